"""A trade-off as a folder: the page, the front in figures and, on request, the one point to publish.

internal/       confidential, for its owner's eyes only:
  tradeoff.html   the front as a chart, the recommended point, all points
  front.csv       a line for each point
  front.json      the same and what lies beside the front
  solution.sol    of a linear system, only on request: the chosen point
release/        of a job, only on request: the release folder of the chosen point, as `statveil protect` writes it
run.json        when and how long
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from statveil.audit.systems import audit_solution
from statveil.core.errors import AuditFailed, InputError
from statveil.core.limits import OnProgress, Progress
from statveil.core.toml import to_toml
from statveil.formats.rcta import Solution, write_solution
from statveil.jobs.folders.tables import ReleaseFindings, attack_own, front_of, relative, released_point, write_release
from statveil.jobs.schema import check_job
from statveil.jobs.staging import moved, staged, write_run, write_text
from statveil.jobs.table_job import TableJob
from statveil.jobs.tables.earlier import OF_TRADEOFF, refuse_other_key
from statveil.jobs.tradeoff.page import front_csv, front_figures, front_json, tradeoff_html
from statveil.jobs.tradeoff.tradeoff import FrontArguments, Tradeoff, tradeoff
from statveil.protect.system import SystemOptions, problem_of
from statveil.version import VERSION

RECOMMENDED = "recommended"
RELEASE, INTERNAL = OF_TRADEOFF, "internal"


@dataclass(frozen=True, kw_only=True)
class FolderTradeoff:
    """A front and where its files are; `files` maps what a file is to its path. `published` is the number of the point, if any."""

    front: Tradeoff
    folder: Path
    files: Mapping[str, Path]
    published: int | None

    def figures(self) -> dict[str, Any]:
        return {**front_figures(self.front), "published": self.published}


def tradeoff_job_to_folder(
    job: TableJob, folder: Path, *, publish: str | None = None, force: bool = False, on_progress: OnProgress | None = None
) -> FolderTradeoff:
    """The front of the job's table; with `publish` ("recommended" or a number) also the release of that point."""
    _check_choice(publish)
    job = with_tradeoff(job, point=RECOMMENDED if publish in (None, RECOMMENDED) else int(str(publish)))
    with staged(folder, force=force) as place:
        started, clock = datetime.now(UTC), time.monotonic()
        refuse = None if publish is None else partial(refuse_other_key, folder, job)
        found = front_of(job, on_progress=on_progress, on_table=refuse)
        number = _number(publish, found.front)
        files = _write_front(found.front, place, job.name)
        if number is not None:
            (place / RELEASE).mkdir()
            paths_from, release = relative(job.base, folder / RELEASE), released_point(job, found)
            findings = ReleaseFindings(attack_own(job, release, on_progress=on_progress))
            written = write_release(
                place / RELEASE, job, release, findings, internal=False, paths_from=paths_from, started=started, clock=clock
            )
            files |= {f"release: {words}": path for words, path in written.items()}
        files["run"] = _write_run(place, started, found.front)
    return FolderTradeoff(front=found.front, folder=folder, files=moved(files, place, folder), published=number)


def tradeoff_system_to_folder(
    path: Path,
    folder: Path,
    *,
    options: SystemOptions | None = None,
    publish: str | None = None,
    force: bool = False,
    **asked: Unpack[FrontArguments],
) -> FolderTradeoff:
    """The front of a linear system; with `publish` also the solution of that point, audited as it was written."""
    _check_choice(publish)
    options = SystemOptions() if options is None else options
    with staged(folder, force=force) as place:
        started = datetime.now(UTC)
        if (tell := asked.get("on_progress")) is not None:
            tell(Progress("reading", 0.0, float("inf"), 0.0, float("inf")))
        system = options.read(path)
        problem = problem_of(system, weights=options.weights, variant=options.variant, norm=options.norm)
        front = tradeoff(problem, **asked)
        number = _number(publish, front)
        files = _write_front(front, place, path.stem)
        if number is not None:
            files["solution"] = place / INTERNAL / "solution.sol"
            released = problem.value + front.points[number - 1].deviation
            solution = Solution(value=problem.value, released=released, sensitive=problem.sensitive, decimals=system.decimals)
            write_solution(solution, files["solution"])
            _audit(path, files["solution"], options)
        files["run"] = _write_run(place, started, front)
    return FolderTradeoff(front=front, folder=folder, files=moved(files, place, folder), published=number)


def _audit(path: Path, solution: Path, options: SystemOptions) -> None:
    report = audit_solution(
        path,
        solution,
        variant=options.variant,
        non_additive=options.non_additive,
        negative_levels=options.negative_levels,
        decimals=options.decimals,
    )
    if not report.passed:
        raise AuditFailed("The independent audit found faults; nothing is written.", hint=str(report))


def _check_choice(publish: str | None) -> None:
    """Refused now rather than after the search."""
    if publish is not None and publish != RECOMMENDED and not (publish.isascii() and publish.isdigit() and int(publish) >= 1):
        raise InputError(f"Unknown point {publish!r} to publish. Known: recommended, or the number of a point.")


def _number(publish: str | None, front: Tradeoff) -> int | None:
    if publish is None:
        return None
    return front.number_of(None if publish == RECOMMENDED else int(publish))


def with_tradeoff(job: TableJob, *, kept: Mapping[str, Any] | None = None, **asked: Any) -> TableJob:
    """The job with other keys under [tradeoff], where they are not None, and another [keep]: it repeats the release."""
    given = {name: value for name, value in asked.items() if value is not None}
    content = {**job.content, "tradeoff": {**job.content.get("tradeoff", {}), **given}, **({} if kept is None else {"keep": kept})}
    return TableJob(parts=check_job(content), content=content, base=job.base, text=to_toml(content))


def _write_front(front: Tradeoff, place: Path, title: str) -> dict[str, Path]:
    texts = {
        "page": ("tradeoff.html", tradeoff_html(front, title=title)),
        "front as CSV": ("front.csv", front_csv(front)),
        "front as JSON": ("front.json", front_json(front)),
    }
    (place / INTERNAL).mkdir(mode=0o700)
    files = {}
    for words, (name, text) in texts.items():
        files[words] = write_text(place / INTERNAL / name, text)
    return files


def _write_run(place: Path, started: datetime, front: Tradeoff) -> Path:
    return write_run(place, started=started, seconds=front.seconds, complete=front.complete, software={"statveil": VERSION})
