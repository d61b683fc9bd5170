"""A film for Chromium's fake camera whose frames cost bits: a texture that moves, with noise on every frame.

The pattern that Chromium brings itself compresses to far less than any rate that a call settles at.
"""

from __future__ import annotations

import random
from pathlib import Path

WIDTH, HEIGHT, RATE = 640, 360, 30
# Seconds until the film begins anew.
SECONDS = 3
# Side of the texture's squares, and how far it moves with each frame: pixels.
SQUARE, STEP = 20, 4
# Most luma that noise adds: a power of two less one, so that sums of bytes carry nothing over.
NOISE = 15
# Luma of the texture: video range, with room for the noise.
DARKEST, BRIGHTEST = 24, 200


def write(path: Path, seed: int) -> None:
    """Writes the film as YUV4MPEG2 (4:2:0), the same for each seed."""
    draw = random.Random(seed)
    frames = RATE * SECONDS
    lines = texture(draw, WIDTH + STEP * frames)
    mask = int.from_bytes(bytes([NOISE]) * (WIDTH * HEIGHT), "big")
    chroma = bytes([128]) * (WIDTH * HEIGHT // 2)
    with path.open("wb") as film:
        film.write(f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F{RATE}:1 Ip A1:1 C420jpeg\n".encode())
        for frame in range(frames):
            start = STEP * frame
            still = b"".join(line[start : start + WIDTH] for line in lines)
            noise = int.from_bytes(draw.randbytes(WIDTH * HEIGHT), "big") & mask
            luma = (int.from_bytes(still, "big") + noise).to_bytes(WIDTH * HEIGHT, "big")
            film.write(b"FRAME\n" + luma + chroma)


def texture(draw: random.Random, width: int) -> list[bytes]:
    """The rows of a texture of squares of one luma each."""
    lines: list[bytes] = []
    for _ in range(HEIGHT // SQUARE):
        lumas = [draw.randint(DARKEST, BRIGHTEST) for _ in range(width // SQUARE + 1)]
        line = b"".join(bytes([luma]) * SQUARE for luma in lumas)
        lines += [line] * SQUARE
    return lines
