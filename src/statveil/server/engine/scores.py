"""The attack scores of mode section4 that the server tells at its start, measured on its own dataset by `statveil attack`.

They are kept in the server's state folder under a fingerprint of records, trees and settings: what changes any of these unsays them.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from statveil.core.atomic import written_together
from statveil.core.errors import FormatError
from statveil.jobs.server_config import DatasetPart, ServerConfig

if TYPE_CHECKING:
    from statveil.audit.attacks.verdict import SuiteReport

EXAMPLE = Path(__file__).with_name("section4_scores.json")
"""Scores on an invented register, for datasets that were not tried themselves."""
WARNING = "WARNING: mode section4 keeps senses consistent, as the paper asks, and that alone does not protect against many requests."
ADVICE = "Use mode anchored for anyone outside the office."


def scores_file(config: ServerConfig) -> Path:
    return config.path(config.web.state) / "attack-scores.json"


def fingerprint(config: ServerConfig, part: DatasetPart) -> str:
    """Of the records and trees, byte for byte, and of all settings of the dataset but its label, in mode section4.

    Keyed, for a plain hash of records would let guesses be checked.
    """
    digest = config.key().hasher("attack scores", size=32)
    settings = part.model_copy(update={"mode": "section4"}).model_dump(mode="json", exclude={"label"})
    digest.update(json.dumps(settings, sort_keys=True).encode())
    trees = [file for each in part.dimensions.values() for file in (each.hierarchy, *(each.hierarchies or ())) if file is not None]
    for file in (part.file, *trees):
        with config.path(file).open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()


def keep_scores(config: ServerConfig, part: DatasetPart, report: SuiteReport) -> None:
    """Write down what the attacks on this dataset in mode section4 found."""
    file = scores_file(config)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lines = [
        {"id": each.threat.id, "name": each.threat.name, "verdict": str(each.status), "number": each.reason or each.number}
        for each in report.verdicts
    ]
    known = {**_kept(file), part.id: {"fingerprint": fingerprint(config, part), "scores": lines}}
    with written_together([file]) as (place,):
        place.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def _kept(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        raise FormatError(f"{file} cannot be read.", hint="Remove it, and let `statveil attack` write it anew.") from None
    return found


def section4_scores(config: ServerConfig, path: Path) -> list[str]:
    """What is known of each dataset in mode section4, in lines; `path` is the file of the configuration."""
    parts = [part for part in config.datasets if part.mode == "section4"]
    if not parts:
        return []
    kept, told, unknown = _kept(scores_file(config)), [WARNING], False
    for part in parts:
        found = kept.get(part.id, {})
        if found.get("fingerprint") == fingerprint(config, part):
            told += [f"Attacks on dataset {part.id} as it is now:", *_lines(found["scores"])]
        else:
            unknown = True
            told.append(f"Attacks on dataset {part.id}: not measured yet. Run: statveil attack {path} --dataset {part.id}")
    return [*told, *(_example() if unknown else []), ADVICE]


def _example() -> list[str]:
    content = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    return [f"On {content['records']:,} invented records ({content['command']}) they found:", *_lines(content["scores"])]


def _lines(scores: list[dict[str, str]]) -> list[str]:
    return [f"  {each['id']}  {each['verdict']:<14}  {each['name']}: {each['number']}" for each in scores]
