"""What a model asks about the tool that runs it is answered as in a plain run."""
