"""Functions that make arrays and tensors of sizes."""
