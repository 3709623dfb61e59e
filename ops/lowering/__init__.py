"""Lowers a torch model to the Body of an op, by torch.export."""
