"""Loads a page several times in Chromium, each time with an empty cache and without a connection.

Prints one JSON object: `browser`, `attempts`, `loads`, each with its times and objects as the browser measured them, and
`download`, what came of one beside them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import chromium
import download
from playwright.sync_api import Browser, Error, Playwright, sync_playwright

# Browsers that are started until one has made all loads: now and then one hangs before it has sent anything.
BROWSERS = 3

# Milliseconds from the navigation's start; objects are the page and all that it consists of.
MEASURE = """() => {
  const [page] = performance.getEntriesByType("navigation");
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  const entries = [page, ...performance.getEntriesByType("resource")];
  return {
    load_ms: page.loadEventStart,
    first_byte_ms: page.responseStart,
    connected_ms: page.connectEnd,
    first_contentful_paint_ms: paint.startTime,
    objects: entries.map((entry) => ({
      name: entry.name,
      protocol: entry.nextHopProtocol,
      status: entry.responseStatus,
      bytes: entry.encodedBodySize,
      end_ms: entry.responseEnd,
    })),
  };
}"""
PAINTED = '() => performance.getEntriesByName("first-contentful-paint").length > 0'


def load(browser: Browser, url: str, timeout_ms: float) -> dict[str, Any]:
    """One load, in a context of its own: neither cache nor connections nor tickets of an earlier one."""
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(url, wait_until="load", timeout=timeout_ms)
        page.wait_for_function(PAINTED, timeout=timeout_ms)
        measured: dict[str, Any] = page.evaluate(MEASURE)
        return measured
    finally:
        context.close()


def loads(playwright: Playwright, options: argparse.Namespace) -> dict[str, Any]:
    """All loads, in as many browsers as that takes."""
    arguments = [f"--ignore-certificate-errors-spki-list={options.key}"]
    if options.quic:
        arguments += ["--enable-quic", f"--origin-to-force-quic-on={options.quic}"]
    else:
        arguments += ["--disable-quic"]
    done: list[dict[str, Any]] = []
    until = time.monotonic() + options.seconds
    for attempt in range(1, BROWSERS + 1):
        browser = chromium.launch(playwright, options.chromium, *arguments)
        try:
            # what a browser does once, without the network
            load(browser, "data:text/html,<p>text", options.timeout * 1e3)
            while len(done) < options.most and (len(done) < options.least or time.monotonic() < until):
                done.append(load(browser, options.url, options.timeout * 1e3))
            return {"browser": browser.version, "attempts": attempt, "loads": done}
        except Error as error:
            if attempt == BROWSERS:
                raise
            print(f"another browser after: {error}", file=sys.stderr)
        finally:
            browser.close()
    raise AssertionError("unreachable")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--chromium", required=True, help="the browser's program")
    parser.add_argument("--key", required=True, help="SHA-256 of the server's public key (SPKI), base64")
    parser.add_argument("--quic", metavar="HOST:PORT", help="origin that is reached by QUIC or not at all")
    parser.add_argument("--least", type=int, default=3, help="loads that are made in any case")
    parser.add_argument("--most", type=int, default=10, help="loads that are made at most")
    parser.add_argument("--seconds", type=float, default=20, help="after which no further load begins")
    parser.add_argument("--timeout", type=float, default=45, help="seconds for one load")
    parser.add_argument("--download", nargs=argparse.REMAINDER, help="a command that downloads meanwhile")
    options = parser.parse_args()
    beside = download.Download(options.download) if options.download else None
    with sync_playwright() as playwright:
        try:
            if beside is not None:
                time.sleep(download.SETTLES)
                beside.mark()
            done = loads(playwright, options)
            done["download"] = beside.marked() if beside else None
            print(json.dumps(done))
        except (Error, OSError) as error:
            print(f"{options.url} did not load: {error}", file=sys.stderr)
            return 1
        finally:
            if beside is not None:
                beside.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
