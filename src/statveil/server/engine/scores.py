"""What the server tells the officer at its start: how accurate its numbers are and how they fare against attacks, on the data it serves.

`statveil serve --evaluate` and `statveil check` measure the scores. They are kept in the server's state folder under a fingerprint of
records, trees and settings: what changes any of these unsays them. No figure of another dataset is ever shown.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from statveil.core.atomic import written_together
from statveil.core.errors import FormatError
from statveil.jobs.server_config import DatasetPart, ServerConfig
from statveil.server.engine.restart import fingerprint
from statveil.server.engine.service import TableService

if TYPE_CHECKING:
    from statveil.audit.attacks.verdict import SuiteReport

WARNING = "WARNING: mode section4 keeps senses consistent, as the paper asks, and that alone does not protect against many requests."
ADVICE = "Use mode cube for anyone outside the office."


def scores_file(config: ServerConfig) -> Path:
    return config.path(config.web.state) / "attack-scores.json"


def keep_scores(config: ServerConfig, part: DatasetPart, report: SuiteReport) -> None:
    """Write down what the attacks on this dataset found."""
    file = scores_file(config)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lines = [
        {"id": each.threat.id, "name": each.threat.name, "verdict": str(each.status), "number": each.reason or each.number}
        for each in report.verdicts
    ]
    known = {**_kept(file), part.id: {"fingerprint": fingerprint(config, part, config.key()), "scores": lines}}
    with written_together([file]) as (place,):
        place.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def _kept(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        raise FormatError(f"{file} cannot be read.", hint="Remove it, and let `statveil serve --evaluate` write it anew.") from None
    return found


def known_scores(config: ServerConfig, path: Path) -> list[str]:
    """What is known of each dataset as it is now, in lines; `path` is the file of the configuration."""
    kept, told = _kept(scores_file(config)), []
    for part in config.datasets:
        found = kept.get(part.id, {})
        told += [WARNING, ADVICE] if part.mode == "section4" else []
        if found.get("fingerprint") == fingerprint(config, part, config.key()):
            told += [f"Attacks on dataset {part.id} as it is now:", *_lines(found["scores"])]
        else:
            told.append(f"Attacks on dataset {part.id}: not measured yet. Run: statveil serve {path} --evaluate")
    return told


def _lines(scores: list[dict[str, str]]) -> list[str]:
    return [f"  {each['id']}  {each['verdict']:<14}  {each['name']}: {each['number']}" for each in scores]


def accuracy_lines(service: TableService) -> list[str]:
    """How far cells that are not sensitive lie from the truth, measure by measure. For the office."""
    lines = []
    for dataset in service.datasets.values():
        lines.append(f"Dataset {dataset.id}, mode {dataset.mode}. Change of cells that are not sensitive, on average:")
        for measure in dataset.measures:
            found = service.cube(dataset.id, measure.id).accuracy
            by = ", ".join(f"{each.dimensions} shown {each.mean_percent:g}%" for each in found.by_dimensions if each.dimensions)
            lines.append(f"  {measure.id}: {found.every.mean_percent:g}%; total {found.grand_total_percent:g}%; dimensions: {by}")
    return lines
