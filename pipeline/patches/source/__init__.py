"""Functions written anew from their source, with choices and loops that data decides as `cond` and `while_loop`."""
