"""Converts an exported program to the Body of an op, node by node."""
