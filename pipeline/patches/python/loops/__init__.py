"""The loops of bytecode: which of them a graph can hold, and what they carry."""
