"""Parts that all kernels share: the registry, the cache on disk, the compiler, the processor, torch.library."""
