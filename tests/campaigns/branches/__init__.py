"""Random functions that change a container in a branch that neither the example nor a replay takes."""
