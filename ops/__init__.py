"""Ops: models and kernels as callables that a pipeline can hold, and the packages that make and run them."""
