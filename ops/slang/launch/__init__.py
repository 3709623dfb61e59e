"""Runs compiled code: on the CPU, on GPUs, as a torch operator with its gradient."""
