"""The C++ that Slang writes, completed: its prelude, its operators, a function to call from Python."""
