"""The methods side by side for the internal report of a release: what the job made, beside what others would have done in its time."""

from __future__ import annotations

from typing import NamedTuple

from statveil.core.limits import OnProgress
from statveil.jobs.compare.compare import compare
from statveil.jobs.compare.page import methods_section
from statveil.jobs.table_job import TableJob
from statveil.publish.release import Release
from statveil.publish.report.internal.methods import MethodsSection


class BesideTuning(NamedTuple):
    """By judgement: the release comes first."""

    share: float = 0.4
    """Of the job's time."""
    most_seconds: float = 100.0


TUNING = BesideTuning()


def seconds_for_methods(job: TableJob) -> float:
    """What other methods take of the job's time, where it asks for them."""
    return min(TUNING.share * job.limits().seconds, TUNING.most_seconds) if job.parts.output.compare else 0.0


def compared_with(job: TableJob, release: Release, *, on_progress: OnProgress | None = None) -> MethodsSection:
    """All methods, of which the job's own is the release as it is."""
    return methods_section(compare(job, release=release, seconds=seconds_for_methods(job), on_progress=on_progress))
