"""Rate limit: how fast a key may ask. A bucket of requests that fills again with time, shared by all processes of a machine.

The buckets lie in a small SQLite file. Losing it costs nothing but full buckets, so it is never waited for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from statveil.server.web.shared_state import SharedDatabase

_TABLE = "CREATE TABLE IF NOT EXISTS bucket (caller TEXT PRIMARY KEY, left REAL, at REAL, granted INTEGER) WITHOUT ROWID"
_FILLED = "min(:size, left + max(0.0, :now - at) * :refill)"
_TAKE = f"""
INSERT INTO bucket VALUES (:caller, :size - 1, :now, 1)
ON CONFLICT (caller) DO UPDATE SET left = {_FILLED} - ({_FILLED} >= 1), granted = {_FILLED} >= 1, at = :now
RETURNING left, granted
"""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """`requests` in `seconds`, all at once or spread out."""

    requests: int
    seconds: int


@dataclass(frozen=True, kw_only=True)
class RateLimitResult:
    """What became of one request: was there one left, and how many are left now."""

    allowed: bool
    left: int
    retry_after: int
    allowance: Allowance

    def headers(self) -> Mapping[str, str]:
        reset = math.ceil((self.allowance.requests - self.left) * self.allowance.seconds / self.allowance.requests)
        return {
            "RateLimit-Limit": str(self.allowance.requests),
            "RateLimit-Remaining": str(self.left),
            "RateLimit-Reset": str(reset),
            "RateLimit-Policy": f"{self.allowance.requests};w={self.allowance.seconds}",
        }


class RateLimiter:
    def __init__(self, path: Path, allowance: Allowance) -> None:
        self._allowance, self._database = allowance, SharedDatabase(path, _TABLE)

    def take(self, caller: str) -> RateLimitResult:
        """Take one request out of the caller's bucket, if there is one: being refused costs nothing."""
        refill = self._allowance.requests / self._allowance.seconds
        facts = {"caller": caller, "size": float(self._allowance.requests), "now": time.time(), "refill": refill}
        ((left, granted),) = self._database.run(_TAKE, facts)
        wait = max(1, math.ceil((1 - left) / refill))
        return RateLimitResult(allowed=bool(granted), left=math.floor(left), retry_after=wait, allowance=self._allowance)

    def close(self) -> None:
        self._database.close()
