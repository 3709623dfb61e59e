"""The models and the runtimes of `benchmarks.models`."""
