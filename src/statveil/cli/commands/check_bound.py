"""`statveil check-bound`: the certificate of a lower bound, worked out again from the file alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from statveil.cli.options import DebugOption, NegativeLevelsOption, NonAdditiveOption, VariantOption, WeightsOption
from statveil.cli.polite import polite


def check_bound(
    file: Annotated[Path, typer.Argument(metavar="FILE.jj", help="The linear system that the bound is about.")],
    certificate: Annotated[Path, typer.Argument(metavar="CERT.json", help="What `statveil adjust --certificate` wrote.")],
    *,
    norm: Annotated[str, typer.Option("--norm", metavar="l1|l2", help="Sum of absolute or of squared changes.")] = "l1",
    weights: WeightsOption = "file",
    variant: VariantOption = "at-least",
    non_additive: NonAdditiveOption = False,
    negative_levels: NegativeLevelsOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="The answer as JSON on stdout.")] = False,
    debug: DebugOption = False,
) -> None:
    """Check the certificate of a lower bound against the file alone, in exact integers. Exit code 5 if it does not hold."""
    with polite(as_json=as_json, debug=debug):
        from statveil.audit.certificate_checker import audit_bound

        bound = audit_bound(
            file, certificate, weights=weights, variant=variant, norm=norm, non_additive=non_additive, negative_levels=negative_levels
        )
        if as_json:
            typer.echo(json.dumps({"certified": True, "bound": float(bound)}))
        else:
            typer.echo(f"The certificate holds: no whole safe table costs less than {float(bound):,.10g}.")
