"""`statveil check`: a release audited again from the records or the file up, its bound checked, and attacked as an attacker would."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from statveil.cli.options import (
    DebugOption,
    DecimalsOption,
    NegativeLevelsOption,
    NonAdditiveOption,
    VariantOption,
    WeightsOption,
    decimals_of,
)
from statveil.cli.polite import polite
from statveil.core.errors import InputError

if TYPE_CHECKING:
    from statveil.audit.attacks.attacker import Effort
    from statveil.audit.attacks.case import Case
    from statveil.audit.attacks.public import Catalogue, TableServer
    from statveil.audit.attacks.verdict import SuiteReport
    from statveil.audit.report import AuditReport
    from statveil.formats.system import Decimals
    from statveil.jobs.server_config import ServerConfig


def check_bound(
    file: Annotated[Path, typer.Argument(metavar="FILE.jj", help="The linear system that the bound is about.")],
    certificate: Annotated[Path, typer.Argument(metavar="CERT.json", help="What `statveil protect --certificate` wrote.")],
    *,
    norm: Annotated[str, typer.Option("--norm", metavar="l1|l2", help="Sum of absolute or of squared changes.")] = "l1",
    weights: WeightsOption = "file",
    variant: VariantOption = "at-least",
    non_additive: NonAdditiveOption = False,
    negative_levels: NegativeLevelsOption = False,
    decimals: DecimalsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as JSON on stdout.")] = False,
    debug: DebugOption = False,
) -> None:
    """Check the certificate of a lower bound against the file alone, in exact integers. Exit code 5 if it does not hold."""
    with polite(as_json=as_json, debug=debug):
        from statveil.audit.certificate_checker import audit_bound

        taken: dict[str, Any] = {"non_additive": non_additive, "negative_levels": negative_levels, "decimals": decimals_of(decimals)}
        bound = audit_bound(file, certificate, weights=weights, variant=variant, norm=norm, **taken)
        if as_json:
            typer.echo(json.dumps({"certified": True, "bound": float(bound)}))
        else:
            typer.echo(f"The certificate holds: no whole safe table costs less than {float(bound):,.10g}.")


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
        str | None, typer.Option("--mode", metavar="cube|section4", help="Try the server in this mode.", show_default=False)
    ] = None,
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help=f"Attack the live server there, with the API key in {KEY_VARIABLE}.", show_default=False),
    ] = None,
    only: Annotated[str, typer.Option("--only", metavar="T02,T07", help="Make these attacks only.", show_default=False)] = "",
    decimals: DecimalsOption = None,
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
        from statveil.cli.display import attacks_in_words
        from statveil.publish.report.attacks import write_attack_report

        effort = Effort(tables=tables, sets=sets, pairs=pairs, cells=cells, seed=seed)
        names = [name.strip() for name in only.split(",") if name.strip()]
        report = _attack(targets, effort, names, decimals_of(decimals), dataset=dataset, mode=mode, url=url)
        page, _ = write_attack_report(report, out)
        typer.echo(json.dumps(report.as_json(), ensure_ascii=False) if as_json else f"{attacks_in_words(report)}\n\nReport: {page}")
        if report.failed:
            raise typer.Exit(FAILED)


def _attack(
    targets: Sequence[Path],
    effort: Effort,
    only: Sequence[str],
    decimals: Decimals,
    *,
    dataset: str | None,
    mode: str | None,
    url: str | None,
) -> SuiteReport:
    from statveil.jobs.reverse import reverse_by_adjustment

    reverse, kinds = reverse_by_adjustment(seed=effort.seed), [target.suffix.lower() for target in targets]
    if kinds == [".toml"]:
        return _attack_server(targets[0], effort, only, dataset=dataset, mode=mode, url=url)
    if dataset or mode or url:
        raise InputError("--dataset, --mode and --url belong to a server's configuration.", hint="Give CONFIG.toml as the target.")
    if kinds == [".jj", ".sol"]:
        from statveil.audit.attacks.suite import attack_system
        from statveil.jobs.attack_targets import system_case

        case = system_case(*targets, effort=effort, reverse=reverse, decimals=decimals)
        return attack_system(case, target=targets[1].name)
    return _attacked_folders(targets, only, effort)


def _attack_server(
    path: Path, effort: Effort, only: Sequence[str], *, dataset: str | None, mode: str | None, url: str | None
) -> SuiteReport:
    """In process on a private copy of the configuration, or the live server over HTTP."""
    from statveil.jobs.reverse import reverse_by_adjustment
    from statveil.jobs.server_config import read_config
    from statveil.server.attack_target import dataset_part, private_copy, service_case
    from statveil.server.engine.scores import keep_scores

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
            if mode in (None, part.mode) and not only:
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


AttacksOption = Annotated[bool, typer.Option("--attacks/--no-attacks", help="Attack it as well.")]
PageOption = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE.html", help="Report on the attacks to write.", show_default=False)
]
OnlyOption = Annotated[str, typer.Option("--only", metavar="T02,T07", help="Make these attacks only.", show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]


def check(
    thing: Annotated[
        str, typer.Argument(metavar="X", help="A release folder; FILE.jj, perhaps with FILE.sol; FILE.sbs; FILE.tab; CONFIG.toml.")
    ],
) -> None:
    """Check a release: audit, bound, attacks.

    X is a release folder, a linear system with its solution, a table with suppressed cells, or a server's configuration: told by
    its content. Exit code 5 if anything does not hold. `statveil check X --help` shows the options for it.
    """


def check_release(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders that `statveil protect` or `demo` wrote, of the same records.")
    ],
    *,
    attacks: AttacksOption = True,
    only: OnlyOption = "",
    out: PageOption = None,
    side_by_side: Annotated[
        Path | None,
        typer.Option("--side-by-side", metavar="FILE.html", help="Page that compares two releases of a table.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Check the public files of release folders again, from the records up, and attack them together."""
    with polite(as_json=as_json, debug=debug):
        if side_by_side is not None:
            _compare(folders, side_by_side)
        report = _together([_audited(folder) for folder in folders])
        attacked = _attacked_folders(folders, _names(only)) if attacks and report.passed else None
        _tell(report, None, attacked, as_json=as_json, page=out)


def _compare(folders: Sequence[Path], page: Path) -> None:
    from statveil.jobs.kinds import kind_of

    if len(folders) != 2 or {kind_of(folder) for folder in folders} != {"release"}:
        raise InputError("Side by side stand two releases of a table.", hint="statveil check A B --side-by-side FILE.html")
    from statveil.jobs.tables.side_by_side import compare_folders

    typer.echo(f"Side by side: {compare_folders(folders[0], folders[1], page)}", err=True)


def _audited(folder: Path) -> AuditReport:
    from statveil.jobs.kinds import kind_of

    if kind_of(folder) == "file release":
        from statveil.jobs.recheck import audit_file_folder

        return audit_file_folder(folder)
    from statveil.jobs.recheck import audit_folder

    return audit_folder(folder)


def _together(reports: Sequence[AuditReport]) -> AuditReport:
    from statveil.audit.report import AuditReport

    return AuditReport(checks=tuple(each for report in reports for each in report.checks))


def _names(only: str) -> list[str]:
    return [name.strip() for name in only.split(",") if name.strip()]


def audit(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `statveil protect` or `statveil demo` wrote.")],
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Check the public numbers of a release folder again, from the records up."""
    check_release([folder], attacks=False, as_json=as_json, debug=debug)


def check_system(
    file: Annotated[Path, typer.Argument(metavar="FILE.jj", help="The linear system.")],
    solution: Annotated[
        Path | None, typer.Argument(metavar="[FILE.sol]", help="What was released; without it, the suppressed cells are checked.")
    ] = None,
    *,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", metavar="CERT.json", help="The proof of the bound.", show_default=False)
    ] = None,
    repairs: Annotated[Path | None, typer.Option("--repairs", metavar="FILE.json", help="The list of repairs.", show_default=False)] = None,
    weights: WeightsOption = "file",
    variant: VariantOption = "at-least",
    non_additive: NonAdditiveOption = False,
    negative_levels: NegativeLevelsOption = False,
    decimals: DecimalsOption = None,
    attacks: AttacksOption = True,
    out: PageOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Check a solution against its linear system, in exact integers, and the certificate of its bound; and attack it."""
    with polite(as_json=as_json, debug=debug):
        from statveil.audit.certificate_checker import audit_bound
        from statveil.audit.systems import audit_solution

        if variant not in ("at-least", "exact"):
            raise InputError(f"Unknown variant {variant!r}. Known: at-least, exact.")
        if solution is None:
            _check_suppressed(file, as_json=as_json)
            return
        chosen = decimals_of(decimals)
        taken: dict[str, Any] = {"variant": variant, "non_additive": non_additive, "negative_levels": negative_levels, "decimals": chosen}
        report = audit_solution(file, solution, repairs=repairs, **taken)
        bound = None if certificate is None else float(audit_bound(file, certificate, weights=weights, norm="l1", **taken))
        attacked = _attacked_system(file, solution, chosen) if attacks and report.passed else None
        _tell(report, bound, attacked, as_json=as_json, page=out)


def _check_suppressed(file: Path, *, as_json: bool) -> None:
    from statveil.cli.commands.check_pattern import tell_pattern
    from statveil.jobs.tables.pattern_check import PatternQuestion

    tell_pattern(file, PatternQuestion(), as_json=as_json)


def _attacked_folders(folders: Sequence[Path], only: Sequence[str], effort: Effort | None = None) -> SuiteReport:
    """Attack releases of tables, or releases of files: both kinds together tell nothing more."""
    from statveil.audit.attacks.attacker import Effort
    from statveil.jobs.kinds import kind_of

    effort, kinds = effort or Effort(), {kind_of(folder) for folder in folders}
    if kinds == {"release"}:
        from statveil.jobs.attack_targets import attack_folders
        from statveil.jobs.reverse import reverse_by_adjustment

        reverse = reverse_by_adjustment(seed=effort.seed)
        return attack_folders(folders, effort=effort, reverse=reverse, only=only, on_progress=_teller())
    if kinds == {"file release"} and len(folders) == 1:
        from statveil.jobs.records.attack_folder import attack_file_folder

        return attack_file_folder(folders[0], only=only)
    raise InputError("Several folders are attacked together only if all are releases of tables.", hint="Attack each by itself.")


def _attacked_system(file: Path, solution: Path, decimals: Decimals) -> SuiteReport:
    from statveil.audit.attacks.attacker import Effort
    from statveil.audit.attacks.suite import attack_system
    from statveil.jobs.attack_targets import system_case
    from statveil.jobs.reverse import reverse_by_adjustment

    case = system_case(file, solution, effort=Effort(), reverse=reverse_by_adjustment(seed=Effort().seed), decimals=decimals)
    return attack_system(case, target=solution.name)


def _tell(report: AuditReport, bound: float | None, attacked: SuiteReport | str | None, *, as_json: bool, page: Path | None = None) -> None:
    """Everything found, in words or as JSON; the exit code tells whether all of it holds."""
    from statveil.cli.display import show_audit
    from statveil.jobs.folders.tables import audit_figures

    if as_json:
        content: Mapping[str, Any] = {"audit": audit_figures(report), "certified_bound": bound, "attacks": _as_json(attacked)}
        typer.echo(json.dumps(content, ensure_ascii=False))
    else:
        show_audit(report, as_json=False)
        _tell_bound(bound)
        _tell_attacks(attacked)
    if page is not None and attacked is not None and not isinstance(attacked, str):
        from statveil.publish.report.attacks import write_attack_report

        write_attack_report(attacked, page)
    if not report.passed or (attacked is not None and not isinstance(attacked, str) and attacked.failed):
        raise typer.Exit(FAILED)


def _tell_bound(bound: float | None) -> None:
    if bound is not None:
        typer.echo(f"The certificate holds: no whole safe table costs less than {bound:,.10g}.")


def _tell_attacks(attacked: SuiteReport | str | None) -> None:
    from statveil.cli.display import attacks_in_words

    if isinstance(attacked, str):
        typer.echo(f"Not attacked: {attacked}")
    elif attacked is not None:
        typer.echo(f"\n{attacks_in_words(attacked)}")
        typer.echo("The attacks learn more than they may." if attacked.failed else "No attack learns more than it may.")


def _as_json(attacked: SuiteReport | str | None) -> Any:
    return {"not_attacked": attacked} if isinstance(attacked, str) else None if attacked is None else attacked.as_json()
