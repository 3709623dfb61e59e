"""Benchmarks: ratios measured in turns in one process; see `interleaved`."""
