"""Parameters of VC-ASGD on a Redis server."""

import redis

from core.contracts.errors import NetworkError
from core.swarm.trunk.parameter_store import PATIENCE_S, Change, ParameterStore, R, reaching

REDIS = "Redis"


class RedisStore(ParameterStore):
    """Changes lock the value by a key that expires, as Redis has no locks of its own: with optimistic transactions
    (WATCH) servers would read and mix the same large value again and again."""

    def __init__(self, address: str, run_id: str) -> None:
        """
        Args:
            address: Of the server, with its password if it wants one.
            run_id: Of the run.
        """
        self._prefix = f"hearth:{run_id}:"
        with reaching(REDIS, redis.RedisError, ValueError, TypeError):  # as of a name, or an option, that is none
            self._client = redis.Redis.from_url(address, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S)
            self._client.ping()

    def read(self, name: str) -> bytes | None:
        with reaching(REDIS, redis.RedisError):
            value = self._client.get(self._prefix + name)
        assert value is None or isinstance(value, bytes)
        return value

    def write(self, name: str, value: bytes) -> None:
        with reaching(REDIS, redis.RedisError):
            self._client.set(self._prefix + name, value)

    def change(self, name: str, change: Change[R]) -> R:
        key = self._prefix + name
        lock = self._client.lock(f"{key}:lock", timeout=PATIENCE_S, blocking_timeout=PATIENCE_S, sleep=0.001)
        with reaching(REDIS, redis.RedisError), lock, self._client.pipeline() as pipe:
            value, result = change(self.read(name))
            # Who was frozen while it held the lock may have lost it.
            pipe.watch(lock.name)  # type: ignore[no-untyped-call]
            if not lock.owned():
                raise NetworkError("Another parameter server went on meanwhile: this one was away for too long.")
            pipe.multi()
            pipe.set(key, value)
            pipe.execute()
        return result

    def close(self) -> None:
        self._client.close()


STORE = RedisStore
