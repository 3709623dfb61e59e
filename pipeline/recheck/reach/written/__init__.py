"""Which places a function can have written, told from its code: a trace puts back those, and leaves all others."""
