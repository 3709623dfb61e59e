"""What is proven of sizes: graphs run on tensors without data, whose sizes are symbols, or other numbers."""
