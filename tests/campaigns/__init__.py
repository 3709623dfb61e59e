"""Correctness campaigns: tracepack over all of torch, over random programs and over real architectures."""
