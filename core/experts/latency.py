"""How long a peer usually takes: what is late is measured by that, not by a constant."""


class Pace:
    """Moving mean and mean deviation of durations (Jacobson, 1988: congestion avoidance and control)."""

    MEAN_GAIN = 1 / 8
    DEVIATION_GAIN = 1 / 4
    DEVIATIONS = 4
    """Beyond the mean: an exponential delay is longer one time in fifty."""

    def __init__(self) -> None:
        self.mean: float | None = None
        """Seconds; None: nothing measured yet."""
        self.deviation = 0.0

    def note(self, seconds: float) -> None:
        """Something took so long, or, if it was given up, at least so long."""
        if self.mean is None:
            self.mean, self.deviation = seconds, seconds / 2
            return
        error = seconds - self.mean
        self.mean += self.MEAN_GAIN * error
        self.deviation += self.DEVIATION_GAIN * (abs(error) - self.deviation)

    def late_s(self, shortest: float, longest: float) -> float:
        """Seconds after which an answer is late, between bounds; the upper one while nothing is known."""
        if self.mean is None:
            return longest
        return min(max(self.mean + self.DEVIATIONS * self.deviation, shortest), longest)
