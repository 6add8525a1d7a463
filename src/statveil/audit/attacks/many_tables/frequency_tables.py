"""T24: T02, T06 and T07 on tables of counts, and small counts."""

from __future__ import annotations

from dataclasses import replace

from statveil.audit.attacks.attacker import TUNING, plain
from statveil.audit.attacks.case import Case
from statveil.audit.attacks.many_tables.averaging import averaged
from statveil.audit.attacks.many_tables.differencing import differenced
from statveil.audit.attacks.many_tables.overlapping_sets import overlapped
from statveil.audit.attacks.verdict import Number, Threat, Verdict, VerdictStatus, judged, not_applicable

THREAT = Threat(
    id="T24",
    name="frequency tables",
    does="Runs the attacks T02, T06 and T07 on counts, and looks for counts of 1 and 2.",
    mark="the marks of T02, T06 and T07 hold on counts; 0 counts of 1 or 2 released",
)


def attack(case: Case) -> Verdict:
    measure = case.attacker.catalogue.counts
    whole = None if measure is None else plain(case.attacker, measure)
    if measure is None or whole is None:
        return not_applicable(THREAT, "The data set has no counts.")
    case.attacker.journal.ask(whole)
    effort = case.attacker.effort
    fewer = replace(effort, tables=max(2, effort.tables // TUNING.counts_share), sets=max(2, effort.sets // TUNING.counts_share))
    lighter = replace(case, attacker=replace(case.attacker, effort=fewer))
    parts = {
        "T02": averaged(lighter, THREAT, measure),
        "T06": overlapped(lighter, THREAT, measure),
        "T07": differenced(lighter, THREAT, measure, worth=1),
    }
    journal = case.attacker.journal
    values = journal.sightings(journal.cell_answers(measure)).value
    small = int(((values == 1) | (values == 2)).sum())
    figures: dict[str, Number] = {"counts of 1 or 2 released": small, "cells": int(values.size)}
    for name, verdict in parts.items():
        figures[name] = f"{verdict.status}: {verdict.number}{verdict.reason}"
    failed = [name for name, verdict in parts.items() if verdict.status is VerdictStatus.FAILED]
    number = f"{small} counts of 1 or 2; {'fails ' + ', '.join(failed) if failed else 'no part fails'}"
    return judged(THREAT, passed=small == 0 and not failed, number=number, figures=figures)
