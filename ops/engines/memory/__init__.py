"""Where the weights of engines lie in memory, and what of it the system may have back."""
