"""The test server in a process of its own: prints its port, ends when its input ends."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from peer.server import Server

with Server() as server:
    print(server.port, flush=True)
    sys.stdin.read()
