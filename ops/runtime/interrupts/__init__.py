"""What an interrupt leaves behind in torch, in Python and in the user's model, and how that is put back."""
