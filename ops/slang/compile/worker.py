"""The process in which the Slang compiler runs: one JSON request on each line of its input, one answer on its output.

It ends with its input, after some time without a request, after any error, since Slang cannot be used then, and when it
holds much memory, since Slang keeps what it compiled. Neither this module nor those that it imports may import torch,
since the process must start fast.
"""

from __future__ import annotations

import json
import os
import resource
import select
import sys
from pathlib import Path
from typing import Any

from ..language.errors import SlangCompileError
from .reflection import Reflection
from .slangc import Request

IDLE = 20.0
"""Seconds without a request after which the process ends; it holds 100 MB."""
MOST_MEMORY = 1 << 30
"""Bytes after which the process has served enough; a compilation takes 5 to 20 MB, SlangPy's own module 200."""


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Answers one request: `do` is `code`, `describe`, `concrete`, `find`, `type` or `module`.

    Raises:
        SlangCompileError: Slang refused the source.
    """
    compiled = Request(request["arguments"], request.get("session", ""))
    match request["do"]:
        case "code":
            return {"code": compiled.code()}
        case "describe":
            return _described(Reflection(compiled))
        case "find":
            return {"overloads": [each.plain() for each in Reflection(compiled).find(request["name"])]}
        case "type":
            type_ = Reflection(compiled).type_named(request["name"])
            return type_.plain() if type_ else {}
        case "concrete":
            found = Reflection(compiled).specialize(request["name"], request["types"])
            return found.plain() if found else {}
        case _:
            Path(request["target"]).write_bytes(compiled.container())
            return {}


def _described(reflection: Reflection) -> dict[str, Any]:
    """The signatures of a compiled source as plain data, for the cache."""
    functions = {
        name: [overload.plain() for overload in overloads] for name, overloads in reflection.functions().items()
    }
    return {"functions": functions, "members": reflection.members(), "globals": reflection.globals()}


def main() -> None:
    """Serves until the input ends."""
    # Slang may write to the standard output: answers go to a copy of it, and Slang's text is dropped.
    with os.fdopen(os.dup(1), "w") as output:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        while select.select([sys.stdin], [], [], IDLE)[0]:
            line = sys.stdin.readline()
            if not line:
                return
            request = json.loads(line)
            number = request.pop("number")
            try:
                reply: dict[str, Any] = {"answer": answer(request)}
            except SlangCompileError as error:
                told = ("what", "file", "line", "log", "fix")
                reply = {"error": {name: getattr(error, name) for name in told}}
            reply |= {"number": number, "last": "error" in reply or _memory() > MOST_MEMORY}
            output.write(json.dumps(reply) + "\n")
            output.flush()
            if reply["last"]:
                return


def _memory() -> int:
    """The most bytes that this process has held at once.

    Linux's `ru_maxrss` begins with what the process held that started this one, a model of gigabytes for instance.
    """
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024
    except (OSError, KeyError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
