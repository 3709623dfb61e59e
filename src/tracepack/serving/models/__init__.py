"""The models of a server: loaded, unloaded and replaced by name, and run one by one, together, or as streams."""
