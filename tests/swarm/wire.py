"""A cable that delays and loses packets, for kernels without netem: python -m tests.swarm.wire DELAY_MS LOSS_PERCENT

Passes Ethernet frames between the interfaces `near` and `far` of its namespace.
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


def plug(interface: str) -> socket.socket:
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    end.bind((interface, ALL_PROTOCOLS))
    end.setblocking(False)
    return end


def main(delay_s: float, loss: float) -> None:
    near, far = plug("near"), plug("far")
    other = {near: far, far: near}
    dice, order = random.Random(0), itertools.count()
    waiting: list[tuple[float, int, socket.socket, bytes]] = []
    print("ready", flush=True)
    while True:
        pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for end in select.select([near, far], [], [], pause)[0]:
            frame, (_, _, kind, *_) = end.recvfrom(LONGEST_FRAME)
            if kind != socket.PACKET_OUTGOING and dice.random() >= loss and len(waiting) < MOST_WAITING:
                heapq.heappush(waiting, (time.monotonic() + delay_s, next(order), other[end], frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, end, frame = heapq.heappop(waiting)
            try:
                end.send(frame)
            except OSError:  # a full queue or a link that is down loses packets, as a real one does
                continue


if __name__ == "__main__":
    main(float(sys.argv[1]) / 1000, float(sys.argv[2]) / 100)
