"""Programs for given sizes: ranges, specialization, derivatives."""
