"""A peer in a process of its own that fetches a file from another peer again and again, several times at once.

python -m tests.swarm.blob_reader PEER_HEX ADDRESS RUN_ID SHA256      (prints its last error when its input ends)
"""

import asyncio
import sys

from core.contracts.errors import HearthError
from core.contracts.hosting import CHUNK, FileRead, ReadFile
from core.contracts.net import READ_FILE, PeerAddress, of_run
from core.identity import Identity, PeerId
from core.swarm.fetching import CHUNK_S
from tests.worked_peers import worked_peer

AT_ONCE = 4


async def main() -> None:
    peer, address, run_id, sha256 = sys.argv[1:]
    host, method, errors = PeerId(bytes.fromhex(peer)), of_run(READ_FILE, run_id), [""]
    async with worked_peer(run_id, ("0.0.0.0:0",), Identity.generate()) as node:
        node.learn(PeerAddress(bytes.fromhex(peer), (address,)))

        async def read() -> None:
            while True:
                try:
                    request = ReadFile(sha256, 0, CHUNK)
                    await node.call(host, method, request, FileRead, deadline_s=CHUNK_S)
                except HearthError as error:
                    errors.append(str(error))
                    await asyncio.sleep(0.2)

        readers = [asyncio.create_task(read()) for _ in range(AT_ONCE)]
        await asyncio.to_thread(sys.stdin.read)
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
    print(errors[-1], flush=True)


if __name__ == "__main__":
    asyncio.run(main())
