"""The attacks on a safe file, made anew from the file as it lies there, in the words of the catalogue of threats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from statveil.audit.attacks.file_attacks import Edit, ExposedFile, FileAttack, attack_file, mixed
from statveil.audit.attacks.file_trace import TracedFile, trace
from statveil.audit.attacks.verdict import Number, Threat, Verdict, judged, not_applicable, percent
from statveil.audit.file_audit import WEIGHT_UNIT, Compared, FileStatement, audit_file, both_records
from statveil.core.arrays import BoolArray
from statveil.data.microdata import Microdata

FEWEST_IN_ORDER = 30
"""Records whose original is certain that the order of a file is compared by."""
MOST_CORRELATED, MOST_DEVIATIONS = 0.01, 4.0


def _threat(name: str, words: str, does: str, mark: str) -> Threat:
    return Threat(id=name, name=words, does=does, mark=mark)


FILE_THREATS: Mapping[str, Threat] = {
    each.id: each
    for each in (
        _threat("M01", "leftover unsafe combination", "Counts every combination of the released file again.", "0 unsafe ones"),
        _threat("M02", "three meanings of a blank", "Counts with a blank as safe, as matching nothing, as matching all.", "0 as declared"),
        _threat("M03", "minimality", "Drops what would not be rare and guesses the commonest of the rest.", "<= 2 points, <= 1% pinned"),
        _threat("M04", "inference from other fields", "Fills blanks by edit rules and by learned ones of 95% confidence.", "<= 1%"),
        _threat("M05", "downcoding", "Looks for recoded values behind which one original value exists.", "<= 1%"),
        _threat("M06", "sample and population uniques", "Looks for those who are unique in the population.", "bias of the estimate <= 20%"),
        _threat(
            "M07",
            "released twice",
            "Joins the file with an earlier release of the same records.",
            "0 blank in one and open in the other",
        ),
        _threat("M08", "order", "Compares the order of the records with that of the originals.", "rank correlation <= 0.01, or by chance"),
    )
}


@dataclass(frozen=True, kw_only=True)
class FileCase:
    """A safe file, the records it was made from, what was promised, and what everybody knows: edit rules, whether extra blanks were made.

    `earlier`: what a comparison with each earlier release found. `waiver`: why those may differ.
    """

    original: Microdata
    released: Microdata
    statement: FileStatement
    edits: Sequence[tuple[Mapping[str, Sequence[str]], Mapping[str, str]]] = ()
    decoys: bool = False
    earlier: Sequence[Compared] = ()
    waiver: str | None = None


def attack_released_file(case: FileCase) -> tuple[Verdict, ...]:
    """M01 to M08."""
    unsafe = audit_file(case.original, case.released, case.statement).unsafe
    if not unsafe:
        reason = "The file has other columns than promised: its records cannot be told from others."
        return tuple(not_applicable(threat, reason) for threat in FILE_THREATS.values())
    before, after = both_records(case.original, case.released, case.statement)
    traced = trace(before, after, len(case.statement.fields))
    found = {each.name: each for each in attack_file(exposed_by(case, traced))}
    return (
        _leftover(unsafe, case.statement.rule),
        _meanings(unsafe, case.statement.rule),
        _limited("M03", [found["M03 guessing"], found["M03 pinned"]]),
        _limited("M04", [found["M04"]]),
        _limited("M05", [found["M05"]]),
        not_applicable(FILE_THREATS["M06"], "The folder does not tell who is unique in the population; the risk report has an estimate."),
        _twice(case),
        _order(traced),
    )


def exposed_by(case: FileCase, traced: TracedFile) -> ExposedFile:
    """What the attacks know, one column for each different row."""
    statement, both = case.statement, np.concatenate([traced.released, traced.truth])
    _, first, inverse = np.unique(mixed(both, range(both.shape[0])), return_index=True, return_inverse=True)
    unit = WEIGHT_UNIT if statement.weight else 1
    places = {name: place for place, name in enumerate(statement.fields)}
    return ExposedFile(
        fields=statement.fields,
        released=traced.released[:, first],
        truth=traced.truth[:, first],
        records=np.bincount(inverse.ravel()),
        amount=np.bincount(inverse.ravel(), weights=traced.amount).astype(np.int64),
        tables=[(tuple(places[name] for name in names), threshold * unit) for names, threshold in statement.tables],
        decoys=case.decoys,
        edits=[edit for when, then in case.edits for edit in _edits(statement, traced, when, then)],
        refined={places[name]: _alone(traced.values[places[name]], new) for name, new in statement.recoded.items()},
    )


def _edits(statement: FileStatement, traced: TracedFile, when: Mapping[str, Sequence[str]], then: Mapping[str, str]) -> list[Edit]:
    """An edit rule speaks of original values; a new value fits where all old ones behind it do."""
    places = {name: place for place, name in enumerate(statement.fields)}
    fits = {}
    for name, old in when.items():
        new = statement.recoded.get(name, {})
        outside = {text for value, text in new.items() if value not in old}
        inside = {new.get(value, value) for value in old} - outside
        fits[places[name]] = frozenset(code for code, text in enumerate(traced.values[places[name]]) if text in inside)
    targets = {places[name]: statement.recoded.get(name, {}).get(value, value) for name, value in then.items()}
    known = {place: text for place, text in targets.items() if text in traced.values[place]}
    return [Edit(when=fits, place=place, code=traced.values[place].index(text)) for place, text in known.items()]


def _alone(values: Sequence[str], new: Mapping[str, str]) -> BoolArray:
    """New values with a single old one behind them, written in another way."""
    behind: dict[str, list[str]] = {}
    for old, text in new.items():
        behind.setdefault(text, []).append(old)
    return np.array([len(behind.get(text, ())) == 1 and behind[text] != [text] for text in values], dtype=np.bool_)


def _leftover(unsafe: Mapping[str, int | None], rule: str) -> Verdict:
    count = unsafe[rule]
    if count is None:
        return not_applicable(FILE_THREATS["M01"], "The released file does not tell its weights, or there are too many blanks to count.")
    return judged(FILE_THREATS["M01"], passed=count == 0, number=f"{count:,} unsafe under rule {rule!r}", figures={"unsafe": count})


def _meanings(unsafe: Mapping[str, int | None], rule: str) -> Verdict:
    figures: dict[str, Number] = {name: "not counted" if count is None else count for name, count in unsafe.items()}
    number = ", ".join(f"{count} if a blank means {name!r}" for name, count in figures.items())
    return judged(FILE_THREATS["M02"], passed=not unsafe[rule], number=number, figures=figures)


def _limited(name: str, found: Sequence[FileAttack]) -> Verdict:
    figures: dict[str, Number] = {}
    for each in found:
        figures |= {each.words: each.value, f"limit: {each.words}": each.limit}
        figures |= {f"finding {place}": words for place, words in enumerate(each.findings, start=1)}
    number = ", ".join(f"{percent(each.value)} (limit {each.limit:.0%})" for each in found)
    return judged(FILE_THREATS[name], passed=all(each.passed for each in found), number=number, figures=figures)


def _twice(case: FileCase) -> Verdict:
    threat, joined = FILE_THREATS["M07"], sum(each.joined for each in case.earlier)
    if not joined:
        words = (
            "No other columns tell which records of the earlier releases are the same." if case.earlier else "No earlier release is named."
        )
        return not_applicable(threat, words)
    differ = sum(sum(each.differ.values()) for each in case.earlier)
    waived = bool((case.waiver or "").strip())
    figures: dict[str, Number] = {"records in common": joined, "values that differ": differ, "waived": "yes" if waived else "no"}
    return judged(threat, passed=not differ or waived, number=f"{differ:,} values differ{', waived' if waived else ''}", figures=figures)


def _order(traced: TracedFile) -> Verdict:
    """The rank correlation of where a record is and where its original was."""
    here = np.flatnonzero(traced.place >= 0)
    if here.size < FEWEST_IN_ORDER:
        return not_applicable(FILE_THREATS["M08"], f"Of fewer than {FEWEST_IN_ORDER} records it is certain which original they come from.")
    rank = np.argsort(np.argsort(traced.place[here]))
    correlation = float(np.corrcoef(np.arange(here.size), rank)[0, 1])
    most = max(MOST_CORRELATED, MOST_DEVIATIONS / float(np.sqrt(here.size - 1)))
    figures: dict[str, Number] = {"records": int(here.size), "rank correlation": correlation}
    number, passed = f"rank correlation {correlation:.3f}", abs(correlation) <= most
    return judged(FILE_THREATS["M08"], passed=passed, number=number, figures=figures, here=f"at most {most:.3f}")
