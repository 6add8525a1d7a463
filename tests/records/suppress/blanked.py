"""Small files to blank."""

from __future__ import annotations

from typing import Any

import statveil as sv


def keys(fields: int, **settings_: Any) -> sv.KeyVariables:
    return sv.KeyVariables(fields=dict.fromkeys("abcde"[:fields]), **settings_)
