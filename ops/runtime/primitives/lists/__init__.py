"""Lists that a pipeline makes at run time: their order."""
