"""Operators on texts, and on bytes, which are tensors of uint8 in a graph."""
