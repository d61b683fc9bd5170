"""A stream of numbered packets that state when they were sent, and what becomes of it.

send HOST PORT INTERVAL COUNT BYTES            COUNT packets of BYTES each INTERVAL ms, until it is ended
receive PORT SECONDS [--download COMMAND ...]  prints what came of those sent within SECONDS, as JSON: first they are
                                               let go on for some seconds, with the download
"""

from __future__ import annotations

import json
import math
import socket
import struct
import sys
import time

from download import SETTLES, Download

# Number and time of sending, ns.
HEAD = struct.Struct("!QQ")
# Linux: the kernel states when a packet came.
SO_TIMESTAMPNS = 35
TIMESPEC = struct.Struct("=qq")
# Seconds for which what was sent in time is still waited for.
TAIL = 3.0
# A picture stands if nothing new comes for so much longer than usual, s.
FREEZE = 0.150
# Seconds until the first packet must have come.
FIRST = 40.0


def send(host: str, port: int, interval: float, count: int, size: int) -> None:
    """Sends until it is ended."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect((host, port))
    print("sending", flush=True)
    number, due = 0, time.monotonic()
    while True:
        for _ in range(count):
            head = HEAD.pack(number, time.time_ns())
            number += 1
            try:
                sock.send(head.ljust(size, b"\x47"))
            except OSError:
                pass  # no program is there yet, or a queue is full
        due += interval / 1e3
        time.sleep(max(0.0, due - time.monotonic()))


def received(sock: socket.socket) -> tuple[int, int, int] | None:
    """Number, time of sending and time of arrival of the next packet, ns."""
    try:
        data, ancillary, _, _ = sock.recvmsg(2048, 64)
    except TimeoutError:
        return None
    came = time.time_ns()
    for level, kind, value in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
            seconds, nanoseconds = TIMESPEC.unpack(value[: TIMESPEC.size])
            came = seconds * 10**9 + nanoseconds
    number, sent = HEAD.unpack_from(data)
    return number, sent, came


def receive(port: int, seconds: float, command: list[str]) -> None:
    """Measures, and prints."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    sock.bind(("", port))
    sock.settimeout(FIRST)
    print("listening", file=sys.stderr, flush=True)
    if received(sock) is None:
        sys.exit("no packet came")
    sock.settimeout(0.1)
    download = Download(command) if command else None
    settled = time.monotonic() + SETTLES
    while time.monotonic() < settled:
        received(sock)
    if download:
        download.mark()
    begin = time.time_ns()
    end = begin + int(seconds * 1e9)
    packets: list[tuple[int, int, int]] = []
    downloaded = None
    while (now := time.time_ns()) < end + int(TAIL * 1e9):
        if download and downloaded is None and now >= end:
            downloaded = download.marked()
            download.close()
        packet = received(sock)
        if packet and begin <= packet[1] < end:
            packets.append(packet)
    report = judged(packets)
    report["seconds"] = seconds
    report["download"] = downloaded
    print(json.dumps(report))


def judged(packets: list[tuple[int, int, int]]) -> dict[str, object]:
    """What came of these, in the order in which they came."""
    if not packets:
        sys.exit("no packet came that was sent in time")
    first: dict[int, float] = {}
    gaps, newest, newest_at = [], -1, 0
    for number, sent, came in packets:
        first.setdefault(number, (came - sent) / 1e6)
        if number > newest:
            if newest >= 0:
                gaps.append((came - newest_at) / 1e9)
            newest, newest_at = number, came
    delays = sorted(first.values())
    sent = max(first) - min(first) + 1
    usual = sum(gaps) / len(gaps) if gaps else 0.0
    frozen = [gap for gap in gaps if gap > usual + FREEZE]
    ranks = [max(1, math.ceil(share * len(delays))) for share in (0.5, 0.95, 0.99, 1.0)]
    return {
        "delays": [delays[rank - 1] for rank in ranks],
        "sent": sent,
        "came": len(first),
        "twice": len(packets) - len(first),
        "freezes": len(frozen),
        "frozen": sum(frozen),
    }


def main(arguments: list[str]) -> None:
    """As the first argument says."""
    if arguments[0] == "send":
        host, port, interval, count, size = arguments[1:]
        send(host, int(port), float(interval), int(count), int(size))
    else:
        port, seconds, *rest = arguments[1:]
        receive(int(port), float(seconds), rest[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
