"""What is found of one operator: `python -m tests.campaigns.engines NUMBER FILE`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.campaigns.engines.campaign import work

if __name__ == "__main__":
    work(int(sys.argv[1]), Path(sys.argv[2]))
