"""What a run does, by its kind: what a command of the command line does, on a state of the job that does not change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from statveil.core.errors import InputError
from statveil.core.limits import OnProgress, known

PROTECT, COMPARE, FRONT, EVALUATE, PREPARE, SERVE = "protect", "compare", "front", "evaluate", "prepare", "serve"
Wish = Mapping[str, Any]
Work = Callable[[Path, Path, Path, Wish, OnProgress], None]


def work(asked: Mapping[str, Any], folder: Path, target: Path, tell: OnProgress) -> None:
    """In the child: the job as it was when the run was asked for; its paths start from the project's folder."""
    job = folder / "history" / f"{asked['state']:06}.toml"
    WORKS[asked.get("kind", PROTECT)](job, folder, target, asked.get("wish", {}), tell)


def _protect(job: Path, base: Path, target: Path, wish: Wish, tell: OnProgress) -> None:
    from statveil.jobs.kinds import kind_of

    if kind_of(job) == "record job":
        from statveil.jobs.folders.records import anonymise_to_folder
        from statveil.jobs.record_job import read_file_job

        anonymise_to_folder(read_file_job(job, base=base), target, on_progress=tell)
    else:
        from statveil.jobs.folders.tables import protect_to_folder
        from statveil.jobs.table_job import read_job

        protect_to_folder(read_job(job, base=base), target, internal=True, on_progress=tell)


def _compare(job: Path, base: Path, target: Path, wish: Wish, tell: OnProgress) -> None:
    from statveil.jobs.folders.compare import compare_to_folder
    from statveil.jobs.table_job import read_job

    compare_to_folder(read_job(job, base=base), target, methods=wish["methods"], base=wish["base"], on_progress=tell)


def _front(job: Path, base: Path, target: Path, wish: Wish, tell: OnProgress) -> None:
    from statveil.jobs.folders.record_tradeoff import tradeoff_file_to_folder
    from statveil.jobs.record_job import read_file_job

    tradeoff_file_to_folder(read_file_job(job, base=base), target, on_progress=tell)


def _evaluate(job: Path, base: Path, target: Path, wish: Wish, tell: OnProgress) -> None:
    from statveil.desk.serving.command import evaluate_to_folder

    evaluate_to_folder(job, base, target, tell)


def _prepare(job: Path, base: Path, target: Path, wish: Wish, tell: OnProgress) -> None:
    from statveil.desk.serving.command import prepare_to_folder

    prepare_to_folder(job, base, target, tell)


def _serve(job: Path, base: Path, target: Path, wish: Wish, tell: OnProgress) -> None:
    from statveil.desk.serving.command import serve_until_stopped

    serve_until_stopped(job, base, target, tell)


WORKS: Mapping[str, Work] = {
    PROTECT: _protect,
    COMPARE: _compare,
    FRONT: _front,
    EVALUATE: _evaluate,
    PREPARE: _prepare,
    SERVE: _serve,
}


def methods() -> dict[str, str]:
    """The methods that can be compared, by name, in words."""
    from statveil.jobs.compare.methods import COMPARED

    return {name: method.words for name, method in COMPARED.items()}


def comparison_wish(chosen: list[str], base: str) -> dict[str, Any]:
    """Which methods, all if none is named, and the base of rounding; what cannot be is said before the run."""
    for name in chosen:
        known("method", name, tuple(methods()))
    if base and not (base.isascii() and base.isdigit() and int(base) >= 1):
        raise InputError("The base must be a whole number of published units, at least 1.")
    return {"methods": chosen, "base": int(base) if base else None}
