"""When TCP payload reaches this host, by the kernel's clock: what a busy machine delays behind it does not count.

`Arrivals` captures at all devices (AF_PACKET, `CAP_NET_RAW`) what comes from port 80.
"""

from __future__ import annotations

import socket
import struct
import threading

# include/uapi/linux/if_ether.h, include/uapi/asm-generic/socket.h
ETH_P_IP = 0x0800
SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33
# For what comes while this process is not run, bytes.
BUFFER = 64 << 20
# Headers that are looked at, bytes, and between looks whether it is over, s.
HEADERS = 120
LOOK = 0.2
PORT = 80


def payload(packet: bytes, length: int) -> int:
    """Bytes of TCP payload of an IPv4 packet of this length from the server."""
    if len(packet) < 40 or packet[9] != socket.IPPROTO_TCP:
        return 0
    tcp = (packet[0] & 15) * 4
    if len(packet) < tcp + 20 or struct.unpack_from("!H", packet, tcp)[0] != PORT:
        return 0
    return length - tcp - (packet[tcp + 12] >> 4) * 4


class Arrivals:
    """From its making to its end."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.settimeout(LOOK)
        self.first: int | None = None
        self.last = 0
        self.longest = (0, 0)
        self.is_over = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        """Takes packets until it is over and none is left."""
        while True:
            try:
                packet, extra, _, _ = self.socket.recvmsg(HEADERS, 64)
            except TimeoutError:
                if self.is_over:
                    return
                continue
            if len(packet) >= 4 and payload(packet, int.from_bytes(packet[2:4])) > 0:
                self.come(extra)

    def come(self, extra: list[tuple[int, int, bytes]]) -> None:
        """Payload has come."""
        at = next((data for _, kind, data in extra if kind == SO_TIMESTAMPNS), None)
        if at is None:
            return
        seconds, nanos = struct.unpack("qq", at[:16])
        now = seconds * 1_000_000_000 + nanos
        if self.first is None:
            self.first = now
        else:
            self.longest = max(self.longest, (now - self.last, self.last - self.first))
        self.last = now

    def end(self) -> dict[str, float]:
        """The longest time without any, and when that began, after the first."""
        self.is_over = True
        self.thread.join()
        silence, at = self.longest
        return {"arrivals_ms": silence / 1e6, "arrivals_at_s": at / 1e9}
