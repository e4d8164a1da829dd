"""A bare process with a tiny expert of the anchor's kind: one sample in by stdin, its output back by stdout."""

import os

import torch
from torch import nn

WIDTH, HIDDEN = 64, 256


def _main() -> None:
    torch.set_num_threads(1)
    module = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, WIDTH))
    os.write(1, b"ready")
    with torch.inference_mode():
        while data := os.read(0, 4 * WIDTH):
            x = torch.frombuffer(bytearray(data), dtype=torch.float32).view(1, WIDTH)
            os.write(1, (x + module(x)).numpy().tobytes())


if __name__ == "__main__":
    _main()
