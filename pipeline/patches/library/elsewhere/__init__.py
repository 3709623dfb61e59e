"""Other moments and other machines, on which a function is tried: what it asks there would be frozen."""
