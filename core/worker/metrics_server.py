"""An HTTP server for Prometheus."""

from collections.abc import Callable
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from core.net.few_at_once import FewAtOnce

HEAD_BYTES = 16 << 10
"""Of a request; what follows is not read."""


class MetricsServer(FewAtOnce, WSGIServer):
    """Use as `with MetricsServer(...)`; serves in a thread of its own."""

    def __init__(self, host: str, port: int, app: Callable[..., Any]) -> None:
        """Listen.

        Args:
            host: address of an interface.
            port: the port there.
            app: answers (WSGI).

        Raises:
            OSError, OverflowError: it cannot.
        """
        super().__init__(host, port, _Handler)
        self.set_app(app)


class _Handler(WSGIRequestHandler):
    def setup(self) -> None:
        super().setup()
        self._head, self._left = self.rfile.readline, HEAD_BYTES
        self.rfile.readline = self._readline  # type: ignore[method-assign]

    def _readline(self, size: int | None = -1) -> bytes:
        line = self._head(min(self._left, size if size is not None and size >= 0 else self._left))
        self._left -= len(line)
        return line

    def log_message(self, *_: Any) -> None:
        """Nothing is logged of requests."""
