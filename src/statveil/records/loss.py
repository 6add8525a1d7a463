"""What a plan loses, in one unit: the value of a key field in one record.

A blank loses one value. A recoding loses a share of every value of its field, from 0 (as it is) to 1 (all values in one code: wiped).
The share is measured in one of two ways:

- `entropy`: the part of the field's entropy that is gone, 1 - H(recoded) / H(as it is) (S4, after De Waal and Willenborg, 1995);
- `values`: a code that stands for g of the m values found in the file loses (g - 1) / (m - 1) in each record (Iyengar, 2002).

With `recoding_weight` 1 a plan's cost is what it loses at the most (a blank in a recoded field counts as a whole value), and since blanks
alone are a plan too, no plan loses more than they do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from statveil.core.arrays import FloatArray
from statveil.records.coding import CodedFile
from statveil.records.suppress.problem import Suppression, entropy, field_costs


def shares_lost(coded: CodedFile, measure: str) -> list[FloatArray]:
    """By field and level, the share of each value that the level loses."""
    return [_by_values(coded, field) if measure == "values" else _by_entropy(coded, field) for field in range(len(coded.values))]


def _by_entropy(coded: CodedFile, field: int) -> FloatArray:
    finest = entropy(coded, field, np.arange(len(coded.values[field])))
    kept = [entropy(coded, field, level.code) / finest if finest > 0 else 1.0 for level in coded.levels[field]]
    return np.asarray(np.clip(1.0 - np.array(kept), 0.0, 1.0))


def _by_values(coded: CodedFile, field: int) -> FloatArray:
    row, size = coded.codes[field], len(coded.values[field])
    known, shares = row >= 0, np.zeros(len(coded.levels[field]))
    if size < 2 or not known.any():
        return shares
    for number, level in enumerate(coded.levels[field]):
        together = np.bincount(level.code)[level.code]  # of each old value: how many share its new code
        shares[number] = np.average((together[row[known]] - 1) / (size - 1), weights=coded.count[known])
    return shares


def known_mass(coded: CodedFile) -> FloatArray:
    """By field, what a blank of cost 1 costs in all records together whose value is known."""
    return np.array([float(coded.mass[row >= 0].sum()) for row in coded.codes])


def recoding_costs(coded: CodedFile) -> list[FloatArray]:
    """d of S4, by field and level: the user's, or weight x what blanks of the whole field cost x the share that is lost."""
    keys = coded.keys
    if isinstance(keys.recoding_costs, Mapping):
        given = [keys.recoding_costs.get(name, {}) for name in keys.names]
        return [np.array([float(own.get(level.name, 0.0)) for level in menu]) for own, menu in zip(given, coded.levels, strict=True)]
    whole = keys.recoding_weight * field_costs(coded, keys.costs) * known_mass(coded)
    return [all_of_it * shares for all_of_it, shares in zip(whole, shares_lost(coded, keys.recoding_costs), strict=True)]


@dataclass(frozen=True, kw_only=True)
class FieldLoss:
    """What is lost of one field.

    values: known before. share: what the recoding takes of each. blanks: values that are blank. `lost`: in all.

    >>> FieldLoss(values=100, share=0.25, blanks=20).lost
    40.0
    """

    values: int
    share: float
    blanks: int

    @property
    def lost(self) -> float:
        """A blank loses the whole value, recoded or not."""
        return self.blanks + self.share * (self.values - self.blanks)

    @property
    def wiped(self) -> bool:
        """Whether no record tells anything about the field any more."""
        return self.values > 0 and (self.share >= 1 - 1e-12 or self.blanks >= self.values)


@dataclass(frozen=True, kw_only=True)
class FileLoss:
    """What a plan loses, in values.

    fields: by name. measure: how the share of a recoding is measured.

    >>> FileLoss(fields={"age": FieldLoss(values=100, share=0.25, blanks=20)}, measure="entropy").words()
    '40 of 100 key values lost (40.0%): 20 by recoding, 20 by blanks'
    """

    fields: Mapping[str, FieldLoss]
    measure: str

    @property
    def values(self) -> int:
        """Key values known before."""
        return sum(each.values for each in self.fields.values())

    @property
    def lost(self) -> float:
        return sum(each.lost for each in self.fields.values())

    @property
    def share(self) -> float:
        return self.lost / self.values if self.values else 0.0

    @property
    def wiped(self) -> tuple[str, ...]:
        """Fields of which nothing is left in any record."""
        return tuple(name for name, each in self.fields.items() if each.wiped)

    @property
    def wiped_values(self) -> int:
        return sum(each.values for each in self.fields.values() if each.wiped)

    def words(self) -> str:
        """In one sentence, wiped fields first."""
        wiped = f"{', '.join(self.wiped)} wiped in every record ({self.wiped_values:,} values); " if self.wiped else ""
        blanks = sum(each.blanks for each in self.fields.values())
        parts = f"{self.lost - blanks:,.0f} by recoding, {blanks:,} by blanks"
        return f"{wiped}{self.lost:,.0f} of {self.values:,} key values lost ({self.share:.1%}): {parts}"

    def figures(self) -> dict[str, object]:
        """For run.json and the command line, wiped fields first."""
        fields = {name: {"values": each.values, "recoded_share": each.share, "blanks": each.blanks, "lost": each.lost}
                  for name, each in self.fields.items()}  # fmt: skip
        return {"wiped": list(self.wiped), "wiped_values": self.wiped_values, "values": self.values, "lost": self.lost,
                "share": self.share, "measure": self.measure, "fields": fields}  # fmt: skip


def loss_of(coded: CodedFile, levels: Sequence[int], suppression: Suppression) -> FileLoss:
    measure = coded.keys.recoding_costs if isinstance(coded.keys.recoding_costs, str) else "entropy"
    shares, blanks = shares_lost(coded, measure), suppression.blanks
    fields = {
        name: FieldLoss(values=int(coded.count[row >= 0].sum()), share=float(shares[place][levels[place]]), blanks=blanks[name])
        for place, (name, row) in enumerate(zip(coded.keys.names, coded.codes, strict=True))
    }
    return FileLoss(fields=fields, measure=measure)
