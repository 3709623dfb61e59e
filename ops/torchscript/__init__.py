"""Models in TorchScript: lowered to graphs, or kept as kernels."""
