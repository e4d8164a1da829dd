"""A cable that delays and loses packets, and takes so many at most, for kernels without netem.

`python -m tests.swarm.wire DELAY_MS LOSS_PERCENT [MBIT]` passes Ethernet frames between the interfaces `near` and `far`
of its namespace. Each way has its own bandwidth, and a queue before it as a home router has.
"""

import heapq
import itertools
import random
import select
import socket
import sys
import time

SOL_PACKET, PACKET_VNET_HDR = 263, 15  # linux/if_packet.h
ALL_PROTOCOLS = 3
LONGEST_FRAME = 10 + 65536 + 14
"""With the virtio header, so that checksums and segments still to be made by the receiver's kernel stay so."""
MOST_WAITING = 20000
MOST_BYTES = 512 << 10
"""In the queue of one way; what comes then is lost."""
BUFFER = 8 << 20
"""Bytes that the kernel keeps while this process waits for a processor: they are no part of the link."""
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33  # asm-generic/socket.h


def plug(interface: str) -> socket.socket:
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    end.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, BUFFER)
    end.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
    end.bind((interface, ALL_PROTOCOLS))
    end.setblocking(False)
    return end


def main(delay_s: float, loss: float, bytes_per_s: float) -> None:
    near, far = plug("near"), plug("far")
    other = {near: far, far: near}
    free = dict.fromkeys(other, 0.0)  # when all that came in there so far has gone through
    dice, order = random.Random(0), itertools.count()
    waiting: list[tuple[float, int, socket.socket, bytes]] = []
    print("ready", flush=True)
    while True:
        pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for end in select.select([near, far], [], [], pause)[0]:
            frame, (_, _, kind, *_) = end.recvfrom(LONGEST_FRAME)
            now = time.monotonic()
            starts = max(now, free[end])
            full = len(waiting) >= MOST_WAITING or (starts - now) * bytes_per_s > MOST_BYTES
            if kind != socket.PACKET_OUTGOING and dice.random() >= loss and not full:
                free[end] = starts + len(frame) / bytes_per_s
                heapq.heappush(waiting, (free[end] + delay_s, next(order), other[end], frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, end, frame = heapq.heappop(waiting)
            try:
                end.send(frame)
            except OSError:  # a full queue or a link that is down loses packets, as a real one does
                continue


if __name__ == "__main__":
    delay, lost, mbit = map(float, [*sys.argv[1:], "inf"][:3])
    main(delay / 1000, lost / 100, 125_000 * mbit)
