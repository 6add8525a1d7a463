"""T20: time, size, headers and words of an answer."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence

import numpy as np

from statveil.audit.attacks.attacker import TUNING, Attacker, different_requests, rows_and_columns
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.public import RequestAxis, TableRequest, Trace
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable

THREAT = Threat(
    id="T20",
    name="side channels",
    does="Compares the time of answers with and without sensitive cells, the bytes and headers of the same request asked twice, and "
    "looks for words about the protection in the answers.",
    mark="|Cohen's d| < 0.1 (or times quantised to 250 ms); the same request gives the same bytes; no such words",
)
WORDS = re.compile(rb"sensitiv|suppress|relax|objective|protected_cells|under.?protect|sense[^l]", re.IGNORECASE)
QUANTUM = 0.25


def attack(case: Case) -> Verdict:
    attacker, journal = case.attacker, case.attacker.journal
    if not journal.open:
        return not_applicable(THREAT, "A release at rest has no times and no headers.")
    numbers = journal.ask_all(_small_tables(attacker, case.measure))
    timed = [(bool(case.truth_of(number).sensitive.any()), _seconds(journal.answers[number].table.trace)) for number in numbers]
    paired = _paired(timed)
    pairs = len(paired)
    if pairs < 10:
        return not_applicable(THREAT, "Not enough tables with and without sensitive cells.", {"pairs": pairs})
    with_, without = (_settled([pair[place] for pair in paired]) for place in range(2))
    d = cohen(with_, without)
    repeated, different = _repeated(attacker, numbers[:20])
    telling = sum(bool(WORDS.search(_said(journal.answers[number].table.trace))) for number in numbers)
    quantised = _quantised([*with_, *without])
    figures: dict[str, Number] = {
        "pairs": pairs,
        "Cohen's d of the times": d,
        "median seconds, sensitive": float(np.median(with_)),
        "median seconds, not": float(np.median(without)),
        "quantised to 250 ms": "yes" if quantised else "no",
        "asked twice": repeated,
        "different bytes or headers": different,
        "answers with telling words": telling,
    }
    passed = (abs(d) < 0.1 or quantised) and different == 0 and telling == 0
    return judged(THREAT, passed=passed, number=f"d = {d:+.3f} over {pairs} pairs, {different} different bytes", figures=figures)


def cohen(one: Sequence[float], other: Sequence[float]) -> float:
    """Difference of the means in units of the pooled standard deviation."""
    spread = math.sqrt((np.var(one, ddof=1) + np.var(other, ddof=1)) / 2)
    return float((np.mean(one) - np.mean(other)) / spread) if spread else 0.0


def _paired(timed: Sequence[tuple[bool, float]]) -> list[tuple[float, float]]:
    """Times of a table with sensitive cells beside one without, asked shortly before or after: a busy hour slows both."""
    found: list[tuple[float, float]] = []
    waiting: list[tuple[bool, float]] = []
    for flag, seconds in timed:
        if waiting and waiting[-1][0] != flag:
            other = waiting.pop()[1]
            found.append((seconds, other) if flag else (other, seconds))
        else:
            waiting.append((flag, seconds))
    return found


def _seconds(trace: Trace | None) -> float:
    return trace.seconds if trace is not None else 0.0


def _settled(seconds: Sequence[float]) -> list[float]:
    """Times without the slowest tenth, which are the machine's, not the server's."""
    return sorted(seconds)[: max(2, math.ceil(0.9 * len(seconds)))]


def _quantised(seconds: Sequence[float]) -> bool:
    """Whether all times lie within 30 ms above a multiple of the quantum, and none below one."""
    return all(each >= QUANTUM and each % QUANTUM < 0.03 for each in seconds)


def _small_tables(attacker: Attacker, measure: str) -> list[TableRequest]:
    """Tables of one shape, drawn at random: some have sensitive cells and some have none."""
    found, rng = rows_and_columns(attacker), attacker.rng("side channels")
    if found is None:
        return []
    sized = [
        (dimension.name, dimension.trees[0].leaves, size)
        for dimension, size in zip(found, (TUNING.timed_rows, TUNING.timed_columns), strict=True)
    ]

    def drawn() -> TableRequest:
        chosen = [(name, leaves, rng.choice(len(leaves), size=min(size, len(leaves)), replace=False)) for name, leaves, size in sized]
        axes = tuple(RequestAxis(id=name, codes=tuple(sorted(leaves[place] for place in places))) for name, leaves, places in chosen)
        return TableRequest(axes=axes, measure=measure, totals=False)

    return different_requests(drawn, 2 * attacker.effort.pairs, draws=4 * attacker.effort.pairs)


def _repeated(attacker: Attacker, numbers: Sequence[int]) -> tuple[int, int]:
    """Requests asked again, and those whose numbers, bytes or headers were not the same."""
    journal, different = attacker.journal, 0
    again = [journal.ask_again(journal.answers[number].request) for number in numbers]
    for number, table in zip(numbers, again, strict=True):
        first = journal.answers[number].table
        same = table is not None and np.array_equal(first.values, table.values) and _wire(first.trace) == _wire(table.trace)
        different += not same
    return len(numbers), different


def _wire(trace: object) -> tuple[bytes, str]:
    """Body and headers, without those that change by nature."""
    body, headers = getattr(trace, "body", b""), getattr(trace, "headers", {})
    return body, json.dumps(sorted((name, text) for name, text in headers.items() if not _PASSING.match(name)))


def _said(trace: object) -> bytes:
    body, headers = getattr(trace, "body", b""), getattr(trace, "headers", {})
    return body + json.dumps(dict(headers)).encode()


_PASSING = re.compile(r"date|x-request-id|(x-)?rate-?limit.*|age|retry-after|server-timing", re.IGNORECASE)
