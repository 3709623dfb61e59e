"""Torch's guards that an interrupt leaves entered end before the verb does, not when their error is forgotten.

One that ends late includes its dispatch key again, for good, where it was entered inside of another.
"""

from __future__ import annotations

import signal

import pytest
import torch
from torch._dispatch.python import enable_python_dispatcher

from tracepack.ops.runtime.interrupts.verbs import undisturbed

_ENTERED = """
def entered(press):
    guard = enable_python_dispatcher()
    guard.__enter__()
    press()
"""
_variables = {"enable_python_dispatcher": enable_python_dispatcher}
exec(compile(_ENTERED, torch.__file__, "exec"), _variables)  # a function of torch's: frames of the user are kept


class Late(Exception):
    pass


def late(number, frame):
    raise Late


@undisturbed
def verb(number: int, wrapped: bool) -> None:
    try:
        with enable_python_dispatcher():
            _variables["entered"](lambda: signal.raise_signal(number))
    except BaseException as error:
        if wrapped:
            raise RuntimeError("torch's own") from error
        raise


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(("name", "raised"), [("SIGINT", KeyboardInterrupt), ("SIGALRM", Late)])
def test_torchs_dispatch_keys_stay_as_they_were(name, raised, wrapped) -> None:
    number = getattr(signal, name, None)
    if number is None:
        pytest.skip("this system has no alarms")
    keys = torch._C._dispatch_tls_local_include_set()
    before = signal.signal(number, late if raised is Late else signal.default_int_handler)
    try:
        # what a handler of alarms raised comes out of the verb, whatever was made of it
        with pytest.raises(RuntimeError if wrapped and raised is KeyboardInterrupt else raised) as caught:
            verb(number, wrapped)
    finally:
        signal.signal(number, before)
    assert torch._C._dispatch_tls_local_include_set() == keys
    del caught
    assert torch._C._dispatch_tls_local_include_set() == keys
    with enable_python_dispatcher():  # torch's next guard restores what it finds
        pass
    assert torch._C._dispatch_tls_local_include_set() == keys
