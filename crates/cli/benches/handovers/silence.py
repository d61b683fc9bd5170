"""Reads a download from its standard input, and prints what it was like.

One JSON object: `bytes`, `seconds` and `sha256`, the longest time without a byte, `silence_ms`, which began
`silence_at_s` after the first, and the same of packets that reach this host (`arrivals.py`).
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time

from arrivals import Arrivals

# Bytes that are read at a time, at most.
PIECE = 1 << 20


def main() -> None:
    """Reads to the end."""
    arrivals = Arrivals()
    digest = hashlib.sha256()
    count = 0
    first = last = None
    longest = (0.0, 0.0)
    while piece := os.read(sys.stdin.fileno(), PIECE):
        now = time.monotonic()
        if first is None or last is None:
            first = now
        else:
            longest = max(longest, (now - last, last - first))
        last = now
        count += len(piece)
        digest.update(piece)
    packets = arrivals.end()
    took = 0.0 if first is None or last is None else last - first
    silence, at = longest
    print(
        json.dumps(
            {
                "bytes": count,
                "seconds": took,
                "sha256": digest.hexdigest(),
                "silence_ms": silence * 1e3,
                "silence_at_s": at,
                **packets,
            }
        )
    )


if __name__ == "__main__":
    main()
