"""Runs a layer: chooses emitters, makes the programs of forward and backward, and connects them to autograd."""
