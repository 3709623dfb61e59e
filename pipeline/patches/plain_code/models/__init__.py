"""How a block calls models: as methods of the user's, and with tensors of several kinds."""
