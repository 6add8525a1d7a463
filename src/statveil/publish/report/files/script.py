"""The same plan again: as a job file, and as a script. Both are complete: nothing has to be filled in by hand."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from statveil.core.errors import InputError
from statveil.data.microdata import Microdata
from statveil.publish.audited_file import EarlierReleases
from statveil.records.coding import CodedFile
from statveil.records.keys import EditRule, KeyVariables
from statveil.records.models import MODELS
from statveil.records.perturb.steps import Step
from statveil.records.recode.recodings import AnyRecoding, Extremes, GrcRecoding, Intervals, Recoding


def job_content(
    data: Microdata,
    coded: CodedFile,
    *,
    recoding: Mapping[str, str],
    seed: int,
    folder: Path | None,
    output: Mapping[str, Any],
    steps: Sequence[Step] = (),
) -> dict[str, Any]:
    """What `statveil protect` needs for this plan; the path of the data starts from `folder` where there is one.

    Every field is named with its recoding: what is not named would be planned anew.
    """
    if not has_file(data):
        raise InputError(
            "A job reads its records from a file, and these came from none.",
            hint="Write them to a file, and read that one.",
        )
    origin = data.origin if folder is None else os.path.relpath(data.origin, folder)
    return {
        "data": {"file": origin, **_reading(data)},
        "fields": {name: _menu(coded, name) for name in coded.keys.names},
        "safety": _safety(coded.keys),
        "recoding": {"fixed": dict(recoding), **({"seed": seed} if seed else {})},
        **({"perturb": {"step": [step.as_json() for step in steps]}} if steps else {}),
        "output": {key: value for key, value in output.items() if value},
    }


def has_file(data: Microdata) -> bool:
    """Whether the records can be read again by name; those that came as a frame cannot."""
    return Path(data.origin).is_file()


def _reading(data: Microdata) -> dict[str, Any]:
    """What `read_microdata` was told about the file."""
    decimal = None if data.decimal == "." else data.decimal
    told = {"delimiter": data.delimiter, "encoding": data.encoding, "decimal": decimal}
    asked = data.wishes.as_arguments() if data.wishes else {}
    return {**{name: value for name, value in told.items() if value is not None}, **asked}


def _settings(keys: KeyVariables) -> dict[str, Any]:
    """The settings that differ from what they are if nothing is said."""
    found = {}
    for each in fields(keys):
        value = getattr(keys, each.name)
        usual = each.default_factory() if each.default_factory is not MISSING else each.default
        if each.name != "fields" and value != usual:
            found[each.name] = value
    return found


def _safety(keys: KeyVariables) -> dict[str, Any]:
    found = _settings(keys)
    if isinstance(found.get("threshold"), Mapping):
        found["threshold"] = {str(size): least for size, least in found["threshold"].items()}
    if isinstance(found.get("combinations"), Mapping):
        found["combinations"] = [{"fields": list(names), "threshold": least} for names, least in found["combinations"].items()]
    if "edits" in found:
        found["edits"] = [
            {"when": {name: list(values) for name, values in rule.when.items()}, "then": dict(rule.then)} for rule in keys.edits
        ]
    if "models" in found:
        found["models"] = [{"type": model.kind, **vars(model)} for model in keys.models]
    return {name: _plain(value) for name, value in found.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(each) for each in value]
    return value


def _menu(coded: CodedFile, name: str) -> dict[str, Any]:
    recodings = [_recoding(coded, name, each) for each in coded.keys.menu(name).recodings]
    return {"recodings": recodings} if recodings else {}


def _recoding(coded: CodedFile, name: str, each: AnyRecoding) -> dict[str, Any]:
    if isinstance(each, Intervals | Extremes):
        told = {part.name: getattr(each, part.name) for part in fields(each)}
        return {key: _plain(value) for key, value in told.items() if value is not None and value != ()}
    return {"name": each.name, "new": _listed(coded, name, each)}


def _listed(coded: CodedFile, name: str, each: Recoding) -> dict[str, str]:
    """The recoding for the values of this file: ranges of a mu-ARGUS recoding are written out."""
    if not isinstance(each, GrcRecoding) and each.others == "refuse":
        return dict(each.new)
    values = coded.values[coded.keys.names.index(name)]
    return dict(zip(values, each.apply(values, column=name), strict=True))


def python_script(
    data: Microdata,
    coded: CodedFile,
    *,
    recoding: Mapping[str, str],
    seed: int,
    target: str,
    options: Mapping[str, Any],
    steps: Sequence[Step] = (),
) -> str:
    """The calls that give the same file."""
    menus = "".join(f"    {name!r}: {_menu_code(coded, name)},\n" for name in coded.keys.names)
    settings = "".join(f"    {name}={_code(value)},\n" for name, value in _settings(coded.keys).items())
    further = "".join(f", {name}={_code(value)}" for name, value in options.items() if value)
    reading = "".join(f", {name}={value!r}" for name, value in _reading(data).items())
    origin = repr(data.origin) if has_file(data) else "frame"
    return (
        "import statveil as sv\n\n"
        f"data = sv.read_microdata({origin}{reading})\n"
        f"fields = {{\n{menus}}}\n"
        f"keys = sv.KeyVariables(\n    fields=fields,\n{settings})\n"
        f"plan = sv.plan_recoding(data, keys, recoding={dict(recoding)!r}, seed={seed})\n"
        f"{_perturbing(steps)}release = sv.apply_plan({'records' if steps else 'data'}, plan, {target!r}{further})\n"
    )


def _perturbing(steps: Sequence[Step]) -> str:
    return (
        f"steps = [{', '.join(f'sv.perturb.{step!r}' for step in steps)}]\nrecords = sv.perturb.perturb_records(data, steps)\n"
        if steps
        else ""
    )


def _code(value: Any) -> str:
    if isinstance(value, EarlierReleases):
        return f"sv.recode.EarlierReleases({_code(value.files)}, waiver={value.waiver!r})"
    if isinstance(value, EditRule):
        return f"sv.recode.EditRule(when={ {name: list(each) for name, each in value.when.items()}!r}, then={dict(value.then)!r})"
    if type(value) in MODELS.values():
        return f"sv.recode.{value!r}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_code(each)}" for key, each in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_code(each) for each in value) + "]"
    return repr(value)


def _menu_code(coded: CodedFile, name: str) -> str:
    recodings = coded.keys.menu(name).recodings
    if not recodings:
        return "None"
    return "sv.recode.Menu(recodings=(" + ", ".join(_recoding_code(coded, name, each) for each in recodings) + ",))"


def _recoding_code(coded: CodedFile, name: str, each: AnyRecoding) -> str:
    if isinstance(each, Intervals | Extremes):
        return f"sv.recode.{each!r}"
    return f"sv.recode.Recoding(name={each.name!r}, new={_listed(coded, name, each)!r})"
