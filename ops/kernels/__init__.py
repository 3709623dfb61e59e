"""What the kernels of the project share: the cache on disk, the compilers, the processor."""
