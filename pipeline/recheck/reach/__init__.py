"""What a function can reach: the user's objects, the state in them, and what many calls may make of it."""
