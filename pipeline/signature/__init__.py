"""The signature of a pipeline: the arguments of a function, their fields and schema, and feeds made of plain values."""
