"""The server's configuration: one TOML file that says what may be asked, and how it is protected.

Paths start from the folder of the file. Unknown keys are refused.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from statveil.core.errors import InputError
from statveil.core.secret import SecretKey
from statveil.core.toml import read_toml
from statveil.data.microdata import Microdata
from statveil.jobs.schema import (
    DataPart,
    DimensionedPart,
    DimensionPart,
    DominancePart,
    MinimumFrequencyPart,
    Number,
    Part,
    PPercentPart,
    PriorPosteriorPart,
    key_path,
    rule_of,
    wrong,
    wrong_keys,
)
from statveil.risk.rules.base import RespondentRule

LONGEST_NAME = 200
"""Characters of a name or code in a request; nothing real is longer."""
Mode = Literal["cube", "section4"]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]


class ServedDimensionPart(DimensionPart):
    """A dimension as in a job file, with a label, labels of codes, and names for its levels, from the one below the total down.

    With several hierarchies `levels` is a list of lists, one for each; they share the name of the lowest level.
    """

    label: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    levels: list[str] | list[list[str]] | None = None


class MeasurePart(Part):
    """Something to add up: a column, or the number of records (`count = true`)."""

    id: Name
    column: str | None = None
    count: bool = False
    label: str | None = None
    unit: str = ""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.count == (self.column is not None):
            raise wrong("needs either column or count = true.")
        return self


ServedRulePart = Annotated[
    MinimumFrequencyPart | DominancePart | PPercentPart | PriorPosteriorPart,
    Field(discriminator="type"),
]
"""Rules that judge a cell by its own respondents; lists of cells by label cannot be consistent for all tables."""


class PublicTotalPart(Part):
    """A total that is public elsewhere: of a measure, at these codes (other dimensions at their totals).

    It is published at most `within` of the measure's units from the truth; 0 means exactly.
    """

    measure: Name
    codes: dict[Name, Name] = Field(default_factory=dict)
    within: Annotated[Number, Field(ge=0)] = 0


_GONE = {
    "populations": "every filter may have several codes now: they are added up. Leave it out.",
    "noise": "no noise is added any more. Leave it out.",
    "cap": "how far sensitive cells move is decided by the cube. Leave it out.",
    "guard": "the differencing guard is gone: the cube answers every table with sums of the same cells. Leave it out.",
}
_ANCHORED = (
    "anchored is gone. Use cube, the default. Numbers of the two must not both be published for the same records: "
    "begin with records that were not served yet, a new key and an empty store."
)


class DatasetPart(DataPart, DimensionedPart):
    id: Name
    unit: str | list[str]
    dimensions: Annotated[dict[Name, ServedDimensionPart], Field(min_length=1)]
    measure: Annotated[list[MeasurePart], Field(min_length=1)]
    rule: Annotated[list[ServedRulePart], Field(min_length=1)]
    holding: str | None = None
    weight: str | None = None
    """How many units each record stands for: what it has is multiplied by that, and counted as that many. A holding's contribution is
    the weighted sum of its records; the minimum frequency counts the holdings that answered."""
    weight_decimals: Annotated[int, Field(ge=0, le=6)] | None = None
    """Weights are rounded to so many decimals; None: taken as they are, at most six."""
    label: str | None = None
    saved: dict[Name, str] = Field(default_factory=dict)
    mode: Mode = "cube"
    filters: list[str] = Field(default_factory=list)
    small_counts: Annotated[int, Field(ge=1, le=10_000)] | None = None
    depth: Annotated[int, Field(ge=1)] | None = None
    """Dimensions that a table may have at once, filters included; None: all."""
    lowest: dict[Name, Name] = Field(default_factory=dict)
    """By dimension the lowest level that is shown; what is below it is in no table."""
    public: list[PublicTotalPart] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _of_this_version(cls, given: Any) -> Any:
        """Keys of earlier versions are refused with what to do."""
        gone = [name for name in _GONE if isinstance(given, dict) and name in given]
        if gone:
            raise wrong(f"{gone[0]}: {_GONE[gone[0]]}")
        if isinstance(given, dict) and given.get("mode") == "anchored":
            raise wrong(f"mode: {_ANCHORED}")
        return given

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        units = [self.unit] if isinstance(self.unit, str) else self.unit
        private = {*units, self.holding, self.weight, *(each.column for each in self.measure)}
        faults = [
            (name in private, f"{name!r} names single respondents or their values and cannot be a dimension.") for name in self.dimensions
        ]
        faults += [(name not in self.dimensions, f"the filter {name!r} is not one of the dimensions.") for name in self.filters]
        faults += [(name not in self.dimensions, f"{name!r} of lowest is not one of the dimensions.") for name in self.lowest]
        faults += [(self.weight_decimals is not None and self.weight is None, "weight_decimals needs weight.")]
        ids = [each.id for each in self.measure]
        faults += [(len(set(ids)) < len(ids), "two measures have the same id.")]
        faults += [(each.measure not in ids, f"public: there is no measure {each.measure!r}.") for each in self.public]
        faults += [
            (name not in self.dimensions, f"public: {name!r} is not one of the dimensions.") for each in self.public for name in each.codes
        ]
        faults += [
            (
                len(units) > 1 and self.holding is None,
                "where several columns name a record, holding must name the respondent: else one in two years would be two respondents.",
            )
        ]
        for is_fault, words in faults:
            if is_fault:
                raise wrong(words)
        return self

    @property
    def unit_columns(self) -> tuple[str, ...]:
        return (self.unit,) if isinstance(self.unit, str) else tuple(self.unit)

    @property
    def count_of_records(self) -> str | None:
        """The measure that counts records, if there is one; with weights it estimates how many they stand for, and is an amount."""
        return next((each.id for each in self.measure if each.count and self.weight is None), None)

    def rules(self) -> list[RespondentRule]:
        return [rule for part in self.rule if isinstance(rule := rule_of(part), RespondentRule)]


class KeyPart(Part):
    """Where the secret key is: a file of mode 0600, or an environment variable and a file for its counter."""

    file: str | None = None
    environment: str | None = None
    counter: str | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.file is None) == (self.environment is None):
            raise wrong("needs either file or environment.")
        if self.environment is not None and self.counter is None:
            words = "with environment also needs counter: a file that lies where the key is kept, not with the store."
            raise wrong(words)
        return self


class StorePart(Part):
    """`sqlite` with a file, or a PostgreSQL address. `lock_seconds`: how long a request waits for the store.

    Less than `web.answer_seconds`: who meets a store that is locked is told so (503), and is not promised a table (202).
    """

    file: str | None = None
    url: str | None = None
    lock_seconds: Number = 4

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.file is None) == (self.url is None):
            raise wrong("needs either file (SQLite) or url (postgresql://...).")
        if self.url is not None and not self.url.startswith(("postgresql://", "postgres://")):
            raise wrong("url must begin with postgresql://; for SQLite give file.")
        return self


class ServedLimitsPart(Part):
    """`cells`: positions of a table with all its totals, shown or not. `seconds`: time for protecting one table."""

    cells: Annotated[int, Field(ge=1, le=2_000_000)] = 200_000
    seconds: Number = 30


class WebPart(Part):
    """How the server listens; read by the web part of the server only.

    `state` is a folder for what the processes share: the audit log and the file of API keys, unless these are named, and counts that
    may be lost. `answer_seconds`: who waits longer is told to come back. Each process makes one table at a time; `waiting` may wait.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8420
    workers: Annotated[int, Field(ge=1, le=64)] = 2
    tls_certificate: str | None = None
    tls_key: str | None = None
    allow_plain_http: bool = False
    proxies: list[str] = Field(default_factory=list)
    state: str = "state"
    api_keys: str | None = None
    anonymous: bool = False
    journal: str | None = None
    requests_per_minute: Annotated[int, Field(ge=1)] = 600
    answer_seconds: Annotated[Number, Field(gt=0, le=60)] = 5
    waiting: Annotated[int, Field(ge=0, le=1000)] = 16
    memory_megabytes: Annotated[int, Field(ge=256)] = 2048

    @model_validator(mode="after")
    def _both_or_neither(self) -> Self:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise wrong("needs tls_certificate and tls_key, or neither.")
        return self


class ServerConfigFile(Part):
    dataset: Annotated[list[DatasetPart], Field(min_length=1)]
    key: KeyPart
    store: StorePart
    limits: ServedLimitsPart = ServedLimitsPart()
    web: WebPart = WebPart()


class ServerConfig:
    """A checked configuration; `base` is the folder its paths start from."""

    def __init__(self, parts: ServerConfigFile, base: Path) -> None:
        self.parts, self.base = parts, base
        self.datasets, self.limits, self.store, self.web = parts.dataset, parts.limits, parts.store, parts.web

    def path(self, written: str) -> Path:
        return self.base / written

    def changed(self, **content: Any) -> ServerConfig:
        """The same configuration but for these parts."""
        return check_config({**self.parts.model_dump(mode="json", exclude_none=True), **content}, base=self.base)

    @property
    def audit_log_file(self) -> Path:
        return self.path(self.web.journal) if self.web.journal else self.path(self.web.state) / "audit-log.jsonl"

    @property
    def api_keys_file(self) -> Path:
        return self.path(self.web.api_keys) if self.web.api_keys else self.path(self.web.state) / "api-keys.json"

    def microdata(self, part: DatasetPart) -> Microdata:
        return part.microdata(self.path(part.file))

    def key(self) -> SecretKey:
        part = self.parts.key
        counter = None if part.counter is None else self.path(part.counter)
        if part.file is not None:
            return SecretKey.from_file(self.path(part.file), counter=counter)
        assert part.environment is not None
        assert counter is not None
        return SecretKey.from_environment(part.environment, counter=counter)


def read_config(path: Path) -> ServerConfig:
    """Read and check a configuration file."""
    return check_config(read_toml(path, start_from="`statveil serve --demo` needs no file.").content, base=path.parent)


def check_config(content: Mapping[str, Any], *, base: Path) -> ServerConfig:
    """The configuration that such a content makes, or an InputError that says what is wrong with each key."""
    try:
        parts = ServerConfigFile.model_validate(content)
    except ValidationError as error:
        raise wrong_keys(error, lambda location: key_path(location, whole="the configuration")) from None
    ids = [each.id for each in parts.dataset]
    if len(set(ids)) < len(ids):
        raise InputError("Two datasets have the same id.")
    return ServerConfig(parts, base)


def refuse_plain_beyond_this_machine(host: str, *, tls: bool, plain: bool, hint: str) -> None:
    """Beyond this machine only with TLS, unless the officer says (`plain`) that something in front speaks it."""
    if not (tls or plain or _is_local(host)):
        raise InputError(f"{host} can be reached from other machines, and keys and tables would travel in the clear.", hint=hint)


def _is_local(host: str) -> bool:
    try:
        addresses = {str(found[4][0]) for found in socket.getaddrinfo(host or "0.0.0.0", None)}
    except OSError:
        raise InputError(f"The address {host!r} is not known.", hint="Give the name or number of this machine.") from None
    return all(ipaddress.ip_address(address.split("%")[0]).is_loopback for address in addresses)
