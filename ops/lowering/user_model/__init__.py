"""The user's model while it is lowered: what stands for it, what is watched, and what is put back."""
