"""What a file or folder is, told by its content: a job, a server's configuration, a linear system, a batch, a release."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal

from statveil.core.errors import InputError
from statveil.jobs.staging import RUN_FILE

Kind = Literal["table job", "record job", "server", "system", "batch", "pattern", "release", "file release"]
HEAD = 4096
"""Bytes that tell a linear system or a batch from anything else."""
KNOWN = (
    "Known: a job file (.toml), a linear system (.jj, .npz), a batch of tau-ARGUS (.arb), a table with statuses (.sbs, .tab),"
    " a release folder."
)


def kind_of(thing: Path) -> Kind:
    """Refused where it is none of them; the ending of the name counts only where the content could be anything."""
    if thing.is_dir():
        return _release(thing)
    if not thing.is_file():
        raise InputError(f"There is no file {thing}.", hint=KNOWN)
    if thing.suffix.lower() == ".toml":
        return _job(thing)
    with thing.open("rb") as file:
        head = file.read(HEAD)
    if head.startswith(b"PK") or thing.suffix.lower() in (".jj", ".npz") or _begins_as_jj(head):
        return "system"
    if thing.suffix.lower() == ".arb" or head.lstrip().startswith((b"<", b"//")):
        return "batch"
    if thing.suffix.lower() in (".sbs", ".tab") or _begins_as_sbs(head):
        return "pattern"
    raise InputError(f"{thing} is nothing that statveil knows.", hint=KNOWN)


def _release(folder: Path) -> Kind:
    try:
        run = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{folder} is no release folder: it has no readable {RUN_FILE}.", hint=KNOWN) from None
    return "file release" if isinstance(run, dict) and "recoding" in run else "release"


def _job(path: Path) -> Kind:
    from statveil.core.toml import read_toml  # a linear system needs none

    content = read_toml(path, start_from="`statveil new` writes a job file to start from.").content
    if "dataset" in content:
        return "server"
    return "record job" if "fields" in content else "table job"


def _begins_as_sbs(head: bytes) -> bool:
    """Codes, a value, a frequency and a flag, and perhaps shares: the first line of an SBS file."""
    return re.match(rb'\s*("[^"\r\n]*",(\d+,)?)+-?[\d.]+,\d+,[VABCDF](,[\d.]+){0,2}\s*(\r|\n|$)', head) is not None


def _begins_as_jj(head: bytes) -> bool:
    words = head.split(maxsplit=2)
    return len(words) > 1 and words[0] == b"0" and words[1].isdigit()
