"""Mounts packed pipelines in an application of FastAPI.

pip install 'tracepack[serve]' fastapi
uvicorn with_fastapi:app                        # in this folder
curl localhost:8000/hello
curl localhost:8000/models/v1/double -d '{"x": [[1, 2]]}'
"""

from __future__ import annotations

import torch
from fastapi import FastAPI

import tracepack
from tracepack import serving

double = tracepack.trace(lambda x: x * 2, torch.rand(2, 2))  # or the path of a file

app = FastAPI()
app.mount("/models", serving.app({"double": double}, max_batch=32))


@app.get("/hello")
def hello() -> dict[str, str]:
    """A route of your own beside the models."""
    return {"hello": "world"}
