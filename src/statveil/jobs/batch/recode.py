"""RECODE: a tree with fewer leaves, and what each old leaf becomes in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from statveil.core.errors import InputError
from statveil.data.hierarchy import Hierarchy
from statveil.formats.argus.metadata import ArgusVariable
from statveil.formats.argus.trees import CodeRange, CodeRecoding

Recoder = CodeRecoding | int
"""A .grc file, or the level down to which a tree is kept (1 is right below the total)."""


def recoded(tree: Hierarchy, how: Recoder, variable: ArgusVariable) -> tuple[Hierarchy, dict[str, str]]:
    """The tree after the recoding, and the new code of each old leaf."""
    if isinstance(how, CodeRecoding) and not how.folded:
        if variable.hierarchical:
            raise InputError(
                f"{variable.name!r} is hierarchical: its recoding begins with <TREERECODE>.", hint="Name the codes to fold below it."
            )
        return _grouped(tree, how, variable)
    if not variable.hierarchical:
        raise InputError(f"{variable.name!r} has no tree to fold.", hint="Recode it by lines such as `new: old, old-old`.")
    return _folded(tree, _at_level(tree, how) if isinstance(how, int) else _named(tree, how.folded, variable))


def _at_level(tree: Hierarchy, level: int) -> set[str]:
    return {code for code in tree.aggregates if tree.depth[code] == level}


def _named(tree: Hierarchy, folded: Sequence[str], variable: ArgusVariable) -> set[str]:
    by_text = {code.strip(): code for code in tree.codes}
    unknown = [code for code in folded if code not in by_text.values() and code.strip() not in by_text]
    if unknown:
        raise InputError(f"{variable.name!r} has no code {unknown[0]!r} to fold.", hint="Codes are those of its tree.")
    found = {code if code in tree.parent else by_text[code.strip()] for code in folded}
    if tree.total in found:
        raise InputError(f"The total of {variable.name!r} cannot be folded: nothing would be left.")
    return found


def _folded(tree: Hierarchy, folded: set[str]) -> tuple[Hierarchy, dict[str, str]]:
    """The highest folded code above a code, or the code itself, is what is left of it."""
    left: dict[str, str] = {tree.total: tree.total}
    for code in tree.codes[1:]:
        above = tree.parent[code]
        left[code] = left[above] if left[above] != above or above in folded else code
    kept = {code: above for code, above in tree.parent.items() if left[code] == code}
    labels = {code: label for code, label in tree.labels.items() if code in kept or code == tree.total}
    return Hierarchy(parent=kept, total=tree.total, labels=labels), {leaf: left[leaf] for leaf in tree.leaves}


def _grouped(tree: Hierarchy, how: CodeRecoding, variable: ArgusVariable) -> tuple[Hierarchy, dict[str, str]]:
    width = variable.width or 0
    new = {leaf: _new_code(how.groups, leaf, width) for leaf in tree.leaves}
    codes = sorted(set(new.values()))
    labels = {code: label for code, label in tree.labels.items() if new.get(code) == code}
    return Hierarchy(parent=dict.fromkeys(codes, tree.total), total=tree.total, labels=labels), new


def _new_code(groups: Mapping[str, Sequence[CodeRange]], code: str, width: int) -> str:
    """Codes are compared at full width, as 9 stands before 10 in a field of two."""
    for new, ranges in groups.items():
        if any(_padded(each, width).holds(code.strip().rjust(width)) for each in ranges):
            return new.rjust(width)
    return code


def _padded(codes: CodeRange, width: int) -> CodeRange:
    first, last = (None if code is None else code.rjust(width) for code in (codes.first, codes.last))
    return CodeRange(first=first, last=last)
