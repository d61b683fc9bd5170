"""A download beside a measurement: a program that prints what it receives."""

from __future__ import annotations

import subprocess
import threading
import time

# Bytes that are read at a time.
PIECE = 1 << 20
# Seconds until a download fills the path.
SETTLES = 4.0


class Download:
    """It counts from `mark` to `marked`, and must not end before."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.bytes = 0
        self.start = (time.monotonic(), 0)
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        """Counts what comes."""
        stdout = self.process.stdout
        while stdout is not None and (piece := stdout.read1(PIECE)):
            self.bytes += len(piece)

    def mark(self) -> None:
        """From here on it counts."""
        self.start = (time.monotonic(), self.bytes)

    def marked(self) -> dict[str, float]:
        """What came since."""
        now, count = time.monotonic(), self.bytes
        if self.process.poll() is not None:
            raise OSError(f"{self.command[0]} ended with {self.process.returncode}")
        return {"bytes": count - self.start[1], "seconds": now - self.start[0]}

    def close(self) -> None:
        """Ends it."""
        self.process.kill()
        self.process.wait()
