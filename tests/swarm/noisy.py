"""`hearth worker` whose experts answer everything with noise of the right size: a hostile peer, as a whole program.

python -m tests.swarm.noisy worker --data-dir ... --listen ... --bootstrap ... --role host
"""

import sys

from core.pipe import worker_end as link


def _command() -> list[str]:
    return [sys.executable, "-m", "tests.swarm.noisy", "compute"]


def _lie() -> None:
    """Replace what this peer's compute puts on the wire."""
    import torch

    from core.contracts.expert_calls import Codec
    from core.experts import codec

    honest = codec.encode

    def noise(tensor: torch.Tensor, codec: Codec) -> bytes | memoryview:
        return honest(torch.randn_like(tensor), codec)

    codec.encode = noise


def main() -> int:
    """The command line of `core`, with lies."""
    if sys.argv[1:] == ["compute"]:
        _lie()
    else:
        link.command = _command
    from core.cli import main as cli

    return cli()


if __name__ == "__main__":
    sys.exit(main())
