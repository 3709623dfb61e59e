"""Layers of torch that compute otherwise in eager mode than torch.export has them."""
