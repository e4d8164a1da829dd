"""What a signal source tells: a value or "unknown", with its source. Sources never raise and never block."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Idle:
    """How long nobody has touched this PC."""

    seconds: float | None
    """None: it cannot be measured here."""
    source: str
    """What measured it, or a sentence that says why nothing can."""
