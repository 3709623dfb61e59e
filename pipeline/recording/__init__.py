"""The recorder: one run of a Python function becomes a Graph."""
