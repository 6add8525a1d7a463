"""`statveil check`: a release audited again from the records or the file up, its bound checked, and attacked as an attacker would."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from statveil.cli.options import DebugOption, NegativeLevelsOption, NonAdditiveOption, VariantOption, WeightsOption
from statveil.cli.polite import polite
from statveil.core.errors import InputError

if TYPE_CHECKING:
    from statveil.audit.attacks.verdict import SuiteReport
    from statveil.audit.report import AuditReport

FAILED = 5
AttacksOption = Annotated[bool, typer.Option("--attacks/--no-attacks", help="Attack it as well.")]
PageOption = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE.html", help="Report on the attacks to write.", show_default=False)
]
OnlyOption = Annotated[str, typer.Option("--only", metavar="T02,T07", help="Make these attacks only.", show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]


def check(
    thing: Annotated[str, typer.Argument(metavar="X", help="A release folder; FILE.jj and FILE.sol; or a server's CONFIG.toml.")],
) -> None:
    """Check a release: audit, bound, attacks.

    X is a release folder, a linear system with its solution, or a server's configuration: told by its content. Exit code 5 if
    anything does not hold. `statveil check X --help` shows the options for it.
    """


def check_release(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders that `statveil protect` or `demo` wrote, of the same records.")
    ],
    *,
    attacks: AttacksOption = True,
    only: OnlyOption = "",
    out: PageOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Check the public files of release folders again, from the records up, and attack them together."""
    with polite(as_json=as_json, debug=debug):
        report = _together([_audited(folder) for folder in folders])
        attacked = _attacked_folders(folders, _names(only)) if attacks and report.passed else None
        _tell(report, None, attacked, as_json=as_json, page=out)


def _audited(folder: Path) -> AuditReport:
    from statveil.jobs.kinds import kind_of

    if kind_of(folder) == "file release":
        from statveil.jobs.records.recheck import audit_file_folder

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
    solution: Annotated[Path, typer.Argument(metavar="FILE.sol", help="What was released.")],
    *,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", metavar="CERT.json", help="The proof of the bound.", show_default=False)
    ] = None,
    repairs: Annotated[Path | None, typer.Option("--repairs", metavar="FILE.json", help="The list of repairs.", show_default=False)] = None,
    weights: WeightsOption = "file",
    variant: VariantOption = "at-least",
    non_additive: NonAdditiveOption = False,
    negative_levels: NegativeLevelsOption = False,
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
        taken: dict[str, Any] = {"variant": variant, "non_additive": non_additive, "negative_levels": negative_levels}
        report = audit_solution(file, solution, repairs=repairs, **taken)
        bound = None if certificate is None else float(audit_bound(file, certificate, weights=weights, norm="l1", **taken))
        attacked = _attacked_system(file, solution) if attacks and report.passed else None
        _tell(report, bound, attacked, as_json=as_json, page=out)


def _attacked_folders(folders: Sequence[Path], only: Sequence[str]) -> SuiteReport | str:
    from statveil.audit.attacks.attacker import Effort
    from statveil.audit.attacks.suite import attack_all
    from statveil.jobs.attack_targets import folder_case, reverse_by_adjustment
    from statveil.jobs.kinds import kind_of

    if any(kind_of(folder) == "file release" for folder in folders):
        return "a safe file is attacked when it is made; its certificate.json holds what was found."
    try:
        case = folder_case(folders, effort=Effort(), reverse=reverse_by_adjustment(seed=Effort().seed))
    except InputError as error:  # weights, shadow variables and the like: what is released is sound, but was not attacked
        return error.message
    name = ", ".join(folder.name or str(folder) for folder in folders)
    return attack_all(case, target=name, only=only, on_progress=lambda words: typer.echo(words, err=True))


def _attacked_system(file: Path, solution: Path) -> SuiteReport:
    from statveil.audit.attacks.attacker import Effort
    from statveil.audit.attacks.suite import attack_system
    from statveil.jobs.attack_targets import reverse_by_adjustment, system_case

    case = system_case(file, solution, effort=Effort(), reverse=reverse_by_adjustment(seed=Effort().seed))
    return attack_system(case, target=solution.name)


def _tell(report: AuditReport, bound: float | None, attacked: SuiteReport | str | None, *, as_json: bool, page: Path | None = None) -> None:
    """Everything found, in words or as JSON; the exit code tells whether all of it holds."""
    from statveil.cli.display import show_audit
    from statveil.jobs.tables.folder import audit_figures

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
    from statveil.cli.commands.attack import in_words

    if isinstance(attacked, str):
        typer.echo(f"Not attacked: {attacked}")
    elif attacked is not None:
        typer.echo(f"\n{in_words(attacked)}")
        typer.echo("The attacks learn more than they may." if attacked.failed else "No attack learns more than it may.")


def _as_json(attacked: SuiteReport | str | None) -> Any:
    return {"not_attacked": attacked} if isinstance(attacked, str) else None if attacked is None else attacked.as_json()
