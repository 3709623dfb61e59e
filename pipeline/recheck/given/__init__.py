"""What a call may give in the place of an argument: other containers, another order of keys, numbers of numpy."""
