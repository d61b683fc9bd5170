"""One end of a WebRTC call in Chromium; the two ends speak to one another by a socket of Unix.

`answer` waits for the other end. `offer` calls, lets the call settle, samples its statistics and prints one JSON object:
`browser`, `settle_s`, `offer` and `answer`, the samples of either end, and `download`, what came of one beside it, which
begins with the first picture.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import time
from pathlib import Path
from typing import Any

import camera
import chromium
import download
from playwright.sync_api import Browser, Error, Page, Playwright, sync_playwright

# Seconds until media comes in.
TIMEOUT = 120.0
# Field trials with which libwebrtc takes SCReAM (version 2), feedback of RFC 8888 and ECT(1).
SCREAM = "WebRTC-RFC8888CongestionControlFeedback/Enabled,offer:true/WebRTC-Bwe-ScreamV2/Enabled/"
FOLDER = Path(__file__).parent


def launch(playwright: Playwright, options: argparse.Namespace) -> Browser:
    """A browser that has a camera."""
    film = FOLDER / f"{options.side}.y4m"
    camera.write(film, seed=1)
    arguments = [
        "--use-fake-ui-for-media-stream",
        f"--use-fake-device-for-media-stream=fps={camera.RATE}",
        f"--use-file-for-fake-video-capture={film}",
        "--autoplay-policy=no-user-gesture-required",
    ]
    if options.scream:
        arguments.append(f"--force-fieldtrials={SCREAM}")
    return chromium.launch(playwright, options.chromium, *arguments)


def open_page(browser: Browser, options: argparse.Namespace) -> Page:
    """A page whose camera is on."""
    page = browser.new_page()
    page.on("console", lambda message: print(f"{options.side}: {message.text}", file=sys.stderr))
    # a file is a secure context, which a camera needs
    page.goto((FOLDER / "call.html").as_uri())
    size = [camera.WIDTH, camera.HEIGHT, camera.RATE]
    page.evaluate("(size) => call.open(...size)", size)
    return page


def answer(page: Page, listener: socket.socket) -> None:
    """Does what the other end requests, until it is gone."""
    with listener.accept()[0] as other, other.makefile("rw") as lines:
        for line in lines:
            name, argument = json.loads(line)
            done = page.evaluate(f"(argument) => call.{name}(argument)", argument)
            print(json.dumps(done), file=lines, flush=True)


def offer(page: Page, options: argparse.Namespace) -> dict[str, Any]:
    """The call, from the offer to the last sample."""
    with connect(options.socket) as other, other.makefile("rw") as lines:

        def request(name: str, argument: Any = None) -> Any:
            print(json.dumps([name, argument]), file=lines, flush=True)
            return json.loads(lines.readline() or "null")

        answered = request("answer", page.evaluate("call.offer()"))
        page.evaluate("(answer) => call.accept(answer)", answered)
        until = time.monotonic() + TIMEOUT
        while not (page.evaluate("call.runs()") and request("runs")):
            if time.monotonic() > until:
                states = page.evaluate("call.states()")
                raise TimeoutError(f"no picture came within {TIMEOUT:.0f} s: {states}")
            page.wait_for_timeout(200)
        beside = download.Download(options.download) if options.download else None
        try:
            page.wait_for_timeout(options.settle * 1e3)
            page.evaluate("call.watch()")
            request("watch")
            if beside is not None:
                beside.mark()
            page.wait_for_timeout(options.seconds * 1e3)
            came = beside.marked() if beside else None
            return {"offer": page.evaluate("call.result()"), "answer": request("result"), "download": came}
        finally:
            if beside is not None:
                beside.close()


def connect(path: str) -> socket.socket:
    """The other end, as soon as it is there."""
    until = time.monotonic() + TIMEOUT
    while True:
        other = socket.socket(socket.AF_UNIX)
        try:
            other.connect(path)
            return other
        except (FileNotFoundError, ConnectionRefusedError):
            other.close()
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=["answer", "offer"])
    parser.add_argument("--chromium", required=True, help="the browser's program")
    parser.add_argument("--socket", required=True, help="where the two ends speak to one another")
    parser.add_argument("--scream", action="store_true", help="SCReAM with ECT(1) instead of GCC")
    parser.add_argument("--settle", type=float, default=8, help="seconds from the first picture to the first sample")
    parser.add_argument("--seconds", type=float, default=20, help="from the first sample to the last")
    parser.add_argument("--download", nargs=argparse.REMAINDER, help="a command that downloads meanwhile")
    options = parser.parse_args()
    listener = socket.socket(socket.AF_UNIX)
    if options.side == "answer":
        listener.bind(options.socket)
        listener.listen(1)
        print("listening", flush=True)
    with sync_playwright() as playwright:
        try:
            browser = launch(playwright, options)
            page = open_page(browser, options)
            if options.side == "answer":
                answer(page, listener)
            else:
                done = {"browser": browser.version, "settle_s": options.settle}
                print(json.dumps({**done, **offer(page, options)}))
            browser.close()
        except (Error, OSError) as error:
            print(f"the call failed: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
