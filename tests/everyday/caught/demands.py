"""Functions with errors and assertions whose conditions join sizes, texts and tensors."""


def data_first(x, _name):
    if (x < 0).any() and x.shape[0] > 5:
        raise ValueError("negative")
    return x.abs().sqrt()


def size_first(x, _name):
    if x.shape[0] > 5 and (x < 0).any():
        raise ValueError("negative")
    return x.abs().sqrt()


def either(x, name):
    if len(name) > 3 or (x < 0).any() or x.shape[0] == 0:
        raise ValueError("negative")
    return x.sqrt()


def negated(x, _name):
    if not (x.shape[0] < 6 or (x >= 0).all()):
        raise ValueError("negative")
    return x.abs()


def nested(x, name):
    if (name != "raw" and x.shape[0] > 5) and not (x >= 0).all():
        raise ValueError("negative")
    return x.abs()


def in_a_row(x, _name):
    if 2 < x.shape[0] < 9 and (x < 0).any():
        raise ValueError("negative")
    return x + 1


def asserted(x, name):
    assert x.shape[0] < 6 or (x >= 0).all(), "negative"
    assert name or (x > -5).all()
    return x * 2


def of_rest(x, name):
    if x.max() > 100 and name == "clip":
        return x.clamp(max=100)
    if (x < 0).any() and x.shape[0] > 5:
        raise ValueError("negative")
    return x * 2


def in_a_side(x, name):
    if name == "raw":
        if x.shape[0] > 5 and (x < 0).any():
            raise ValueError("negative")
        return x * 3
    return x.abs()


def checked(x):
    if x.ndim == 1 and (x < 0).any() and len(x) > 5:
        raise ValueError(f"negative: {x.min()}")
    return x


def in_a_helper(x, _name):
    return checked(x) * 2
