"""Whether the rows of several calls may be run together, as signature and graph say it."""
