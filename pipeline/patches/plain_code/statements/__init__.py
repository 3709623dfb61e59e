"""Which statements become a block, where it begins, and what is taken out of them."""
