"""What the calls of a trace would use up for the user: it gets copies, or what they did is undone."""
