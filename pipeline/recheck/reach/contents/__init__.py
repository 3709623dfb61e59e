"""What objects hold that show neither items nor attributes, and functions that read and set it."""
