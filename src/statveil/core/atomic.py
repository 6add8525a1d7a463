"""Several files that appear together or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from statveil.core.errors import InputError

_PREFIX = ".statveil-"


def check_targets(targets: Sequence[Path], *, sources: Sequence[Path]) -> None:
    """Say before the work begins that a file cannot be written, or would overwrite what it is made from."""
    for place, target in enumerate(targets):
        if not target.parent.is_dir():
            raise InputError(f"There is no folder {target.parent}.", hint="Make it first.")
        if target.is_dir() or not os.access(target.parent, os.W_OK):
            raise InputError(f"{target} cannot be written.", hint="Choose another file.")
        if target.resolve() in [other.resolve() for other in (*sources, *targets[:place])]:
            raise InputError(f"{target} is named twice.", hint="Each file needs a name of its own.")


@contextmanager
def written_together(targets: Sequence[Path]) -> Iterator[list[Path]]:
    """Places to write to, beside the targets; they take the targets' names when the block ends well, and vanish otherwise."""
    with contextlib.ExitStack() as stack:
        places = [stack.enter_context(_place(target)) for target in targets]
        yield places
        check_targets(targets, sources=())
        for place, target in zip(places, targets, strict=True):
            place.replace(target)


@contextmanager
def _place(target: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=target.parent))
    try:
        yield folder / target.name
    finally:
        shutil.rmtree(folder)
