"""The functions behind the operators of a graph."""
