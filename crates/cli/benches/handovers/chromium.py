"""Downloads a file with Chromium, as a user would, and prints what it was like.

    chromium.py CHROMIUM URL FILE

One JSON object: `bytes`, `seconds`, `sha256`, and the longest time in which the file on disk did not grow, `silence_ms`,
which began `silence_at_s` after it began to, and the same of packets that reach this host (`arrivals.py`). The file is looked at
every millisecond, if the machine is not too busy for that: then it is found to be silent although packets come.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
import threading
import time

from playwright.sync_api import sync_playwright

from arrivals import Arrivals

# Between two looks at the file, s.
LOOK = 0.001
# For the whole download, ms.
TIMEOUT = 400_000


class Growth:
    """How the only file of a folder grows."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.size = 0
        self.first: float | None = None
        self.last = 0.0
        self.longest = (0.0, 0.0)
        self.is_over = False
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self) -> None:
        """Looks at it until it is over."""
        while not self.is_over:
            self.look(time.monotonic())
            time.sleep(LOOK)

    def look(self, now: float) -> None:
        """Looks at it once."""
        try:
            size = sum(entry.stat().st_size for entry in os.scandir(self.folder))
        except FileNotFoundError:
            return  # it is being renamed
        if size <= self.size:
            return
        if self.first is None:
            self.first = now
        else:
            self.longest = max(self.longest, (now - self.last, self.last - self.first))
        self.size, self.last = size, now

    def end(self) -> None:
        """It has come."""
        self.is_over = True
        self.thread.join()


def main(program: str, url: str, to: str) -> None:
    """One download."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program,
            chromium_sandbox=False,
            args=["--disable-gpu", "--disable-features=HttpsUpgrades,OptimizationHints"],
            downloads_path=folder,
        )
        page = browser.new_page(accept_downloads=True)
        growth, arrivals = Growth(folder), Arrivals()
        try:
            with page.expect_download(timeout=TIMEOUT) as begun:
                page.evaluate("(url) => { location.href = url; }", url)
            come = begun.value.path()
        finally:
            growth.end()
            packets = arrivals.end()
        with open(come, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        count = os.path.getsize(come)
        shutil.copyfile(come, to)
        browser.close()
    silence, at = growth.longest
    took = 0.0 if growth.first is None else growth.last - growth.first
    print(
        json.dumps(
            {
                "bytes": count,
                "seconds": took,
                "sha256": digest,
                "silence_ms": silence * 1e3,
                "silence_at_s": at,
                **packets,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
