"""Deploys a packed pipeline on a Ray cluster.

pip install 'tracepack[serve,ray]'
ray start --head                                # a cluster of this machine alone
python with_ray.py cell.tpk
curl localhost:8000/v2/models/cell
ray stop                                        # ends the cluster and all that runs on it
"""

from __future__ import annotations

import sys

import ray
from ray import serve

from tracepack.serving import ray_app


def main() -> None:
    """Deploys the file, which is served on when this ends; called again with a new file, Ray replaces the replicas."""
    ray.init(address="auto")  # without an address it may start a second cluster, and both would answer on one port
    serve.run(ray_app(sys.argv[1], replicas=(1, 4), max_batch=32, max_delay_ms=2))


if __name__ == "__main__":
    main()
