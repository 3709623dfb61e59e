"""What single values become: in a result, and in a side of a choice that the example spares."""
