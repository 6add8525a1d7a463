"""What a published file says otherwise than its release, and files with one place changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from statveil.publish.read_back.compare import differences


def found(release: Any, read: Callable[..., Any], path: Path) -> list[str]:
    [view] = release.protected.views
    return differences(view, read(path, view, release.protected.decimals), release.protected).first


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
