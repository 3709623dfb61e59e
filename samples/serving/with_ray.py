"""Deploys a packed pipeline on a Ray cluster, or on one of this machine.

pip install 'tracepack[serve,ray]'
python with_ray.py cell.tpk
curl localhost:8000/v2/models/cell
"""

from __future__ import annotations

import sys

from ray import serve

from tracepack.serving import ray_app


def main() -> None:
    """Serves the file until Ctrl-C; run again with a new file, a second process replaces the replicas in turn."""
    serve.run(ray_app(sys.argv[1], replicas=(1, 4), max_batch=32, max_delay_ms=2), blocking=True)


if __name__ == "__main__":
    main()
