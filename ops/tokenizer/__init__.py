"""The tokenizer as an op, so that a pipeline takes text, and no one has to know how its token ids are made."""
