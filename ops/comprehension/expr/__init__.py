"""Expressions over indices: the IR of comprehensions, their dtypes and functions."""
