def layer_cases():
    return []
