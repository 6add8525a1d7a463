"""The files that the processes of a server share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from statveil.jobs.server_config import ServerConfig


@dataclass(frozen=True, kw_only=True)
class Places:
    """The files that the processes share."""

    journal: Path
    keys: Path
    board: Path
    rate: Path
    metrics: Path

    @classmethod
    def of(cls, config: ServerConfig) -> Places:
        web, state = config.web, config.path(config.web.state)
        return cls(
            journal=config.path(web.journal) if web.journal else state / "audit-log.jsonl",
            keys=config.path(web.api_keys) if web.api_keys else state / "api-keys.json",
            board=state / "jobs.sqlite",
            rate=state / "rate.sqlite",
            metrics=state / "metrics",
        )

    def prepare(self) -> None:
        for path in (self.journal, self.keys, self.board):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
