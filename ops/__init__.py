"""Ops: models and kernels as callables that a pipeline can hold, and the rooms that make and run them."""
