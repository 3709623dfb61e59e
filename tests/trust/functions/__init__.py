"""Trials of traced functions: what Python around the ops may do."""
