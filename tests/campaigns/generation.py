def generation_cases():
    return []
