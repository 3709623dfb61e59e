"""What a call may give in the place of an argument: containers of other classes, keys in another order, numbers of numpy."""
