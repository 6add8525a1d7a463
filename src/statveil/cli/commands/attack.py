"""`statveil attack`: try to break what was released, or what a server answers."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from statveil.cli.polite import polite
from statveil.core.errors import InputError

if TYPE_CHECKING:
    from statveil.audit.attacks.attacker import Effort
    from statveil.audit.attacks.case import Case
    from statveil.audit.attacks.public import Catalogue, TableServer
    from statveil.audit.attacks.verdict import SuiteReport
    from statveil.jobs.server_config import ServerConfig

FAILED = 5
KEY_VARIABLE = "STATVEIL_API_KEY"


def attack(
    targets: Annotated[
        list[Path],
        typer.Argument(metavar="TARGET...", help="Release folders; or FILE.jj FILE.sol; or a server's CONFIG.toml."),
    ],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE.html", help="Report to write; its JSON goes beside it.")] = Path(
        "attacks.html"
    ),
    dataset: Annotated[
        str | None, typer.Option("--dataset", metavar="ID", help="Which data set of the server.", show_default=False)
    ] = None,
    mode: Annotated[
        str | None, typer.Option("--mode", metavar="anchored|section4", help="Try the server in this mode.", show_default=False)
    ] = None,
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help=f"Attack the live server there, with the API key in {KEY_VARIABLE}.", show_default=False),
    ] = None,
    only: Annotated[str, typer.Option("--only", metavar="T02,T07", help="Make these attacks only.", show_default=False)] = "",
    tables: Annotated[int, typer.Option("--tables", metavar="N", min=2, help="Tables that share cells (T02, T04).")] = 1000,
    sets: Annotated[int, typer.Option("--sets", metavar="N", min=2, help="Overlapping populations (T06).")] = 400,
    pairs: Annotated[int, typer.Option("--pairs", metavar="N", min=10, help="Pairs of tables that are timed (T20).")] = 1000,
    cells: Annotated[int, typer.Option("--cells", metavar="N", min=1, help="Cells whose interval is computed (T08).")] = 200,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the attacker's choices.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="The report as one JSON object on stdout.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an internal error. It may hold confidential values.")
    ] = False,
) -> None:
    """Attack releases or a table server as in the catalogue of threats, and report what an attacker learns."""
    with polite(as_json=as_json, debug=debug):
        from statveil.audit.attacks.attacker import Effort
        from statveil.publish.report.attacks import write_attack_report

        effort = Effort(tables=tables, sets=sets, pairs=pairs, cells=cells, seed=seed)
        names = [name.strip() for name in only.split(",") if name.strip()]
        report = _attack(targets, effort, names, dataset=dataset, mode=mode, url=url)
        page, _ = write_attack_report(report, out)
        typer.echo(json.dumps(report.as_json(), ensure_ascii=False) if as_json else f"{in_words(report)}\n\nReport: {page}")
        if report.failed:
            raise typer.Exit(FAILED)


def _attack(
    targets: Sequence[Path], effort: Effort, only: Sequence[str], *, dataset: str | None, mode: str | None, url: str | None
) -> SuiteReport:
    from statveil.jobs.attack_targets import reverse_by_adjustment

    reverse, kinds = reverse_by_adjustment(seed=effort.seed), [target.suffix.lower() for target in targets]
    if kinds == [".toml"]:
        return _attack_server(targets[0], effort, only, dataset=dataset, mode=mode, url=url)
    if dataset or mode or url:
        raise InputError("--dataset, --mode and --url belong to a server's configuration.", hint="Give CONFIG.toml as the target.")
    if kinds == [".jj", ".sol"]:
        from statveil.audit.attacks.suite import attack_system
        from statveil.jobs.attack_targets import system_case

        return attack_system(system_case(*targets, effort=effort, reverse=reverse), target=targets[1].name)
    from statveil.jobs.attack_targets import folder_case

    name = ", ".join(target.name or str(target) for target in targets)
    return _run(folder_case(targets, effort=effort, reverse=reverse), name, only)


def _attack_server(
    path: Path, effort: Effort, only: Sequence[str], *, dataset: str | None, mode: str | None, url: str | None
) -> SuiteReport:
    """In process on a private copy of the configuration, or the live server over HTTP."""
    from statveil.jobs.attack_targets import reverse_by_adjustment
    from statveil.jobs.server_config import read_config
    from statveil.server.attack_target import dataset_part, private_copy, service_case
    from statveil.server.engine.modes import keep_scores

    config = read_config(path)
    if url is not None and mode is not None:
        raise InputError("A live server has the mode it has.", hint="Leave out --mode, or --url.")
    server = None if url is None else _live_server(url, config, dataset)
    with tempfile.TemporaryDirectory(prefix="statveil-attack-") as folder:
        private = private_copy(config, Path(folder), mode=mode)
        case = service_case(private, dataset, Path(folder), effort=effort, reverse=reverse_by_adjustment(seed=effort.seed))
        if url is None or server is None:
            report = _run(case, f"{path.name}{f', mode {mode}' if mode else ''}", only)
            part = dataset_part(config, dataset)
            if (mode or part.mode) == "section4" and not only:
                try:
                    keep_scores(config, part, report)
                except OSError:
                    typer.echo("The scores could not be kept in the server's state folder.", err=True)
            return report
        return _run(_live(case, server), url, only)


def _live_server(url: str, config: ServerConfig, dataset: str | None) -> Callable[[Catalogue], TableServer]:
    """The way to a live server that has let us in: nothing is computed for one that does not."""
    from statveil.audit.attacks.http_client import HttpTableServer, check_access
    from statveil.server.attack_target import dataset_part

    key = os.environ.get(KEY_VARIABLE)
    if not key:
        raise InputError(f"{KEY_VARIABLE} holds no API key.", hint="Set it to a key that the server knows.")
    name = dataset_part(config, dataset).id
    check_access(url, key, name)
    return lambda catalogue: HttpTableServer(url, key, name, catalogue)


def _live(case: Case, server: Callable[[Catalogue], TableServer]) -> Case:
    """The same records and rules, asked through the web; the operator's side stays out of reach."""
    from dataclasses import replace

    from statveil.audit.attacks.attacker import AttackJournal

    journal = case.attacker.journal
    asked = AttackJournal(journal.register, journal.catalogue, server(journal.catalogue))
    return replace(case, operator=None, attacker=replace(case.attacker, journal=asked))


def _run(case: Case, target: str, only: Sequence[str]) -> SuiteReport:
    from statveil.audit.attacks.suite import attack_all

    return attack_all(case, target=target, only=only, on_progress=_teller())


def _teller() -> Callable[[str], None]:
    return lambda words: typer.echo(words, err=True)


def in_words(report: SuiteReport) -> str:
    """A line for each attack: its code, the verdict, and the number found."""
    return "\n".join(
        f"{each.threat.id}  {str(each.status).upper() if not each.passed and not each.reason else each.status!s:<15} {each.threat.name}: "
        f"{each.reason or each.number}"
        for each in report.verdicts
    )
