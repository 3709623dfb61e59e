"""Models that come as TorchScript."""
