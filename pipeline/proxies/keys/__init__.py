"""Who asks for the hash of a value of the run."""
