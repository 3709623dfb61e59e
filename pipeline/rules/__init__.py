"""What the recorder does with each kind of call."""
