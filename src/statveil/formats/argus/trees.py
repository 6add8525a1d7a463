"""Trees (.hrc), labels (.cdl) and recodings (.grc) of tau-ARGUS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from statveil.core.errors import FormatError, HierarchyError
from statveil.data.hierarchy import DEFAULT_TOTAL, Hierarchy
from statveil.formats.argus.lines import ArgusLine, fits_line, read_lines, words_of


def read_tree(
    path: str | Path,
    *,
    lead: str = "@",
    total: str = DEFAULT_TOTAL,
    labels: Mapping[str, str] | None = None,
    missing: Iterable[str] = (),
) -> Hierarchy:
    """A .hrc file: a code per line, as many lead strings before it as its depth; the total is not written.

    Blanks before a code belong to it, blanks after it do not. Codes that mean "missing" stand right below the total.
    Of two aggregates of one name the second is called by the code above it too: "11 (2)", with the label "11".
    """
    lines = [(line, *_leads(line, lead)) for line in read_lines(Path(path))]
    if not lines:
        raise FormatError(f"{Path(path).name}, line 1: the tree is empty.", hint="It must hold a code per line.")
    parent: dict[str, str] = {}
    same: dict[str, str] = {}
    above: list[str] = [total]
    for (line, depth, code), (_, next_depth, _) in zip(lines, [*lines[1:], (lines[0][0], 0, "")], strict=True):
        if depth >= len(above):
            raise line.fault(
                f"code {code!r} is {depth} levels deep, but the code above it is {len(above) - 2}", hint="A level is left out."
            )
        own = _own_code(line, code, above[depth], parent, total, aggregate=next_depth > depth)
        same |= {own: code} if own != code else {}
        parent[own] = above[depth]
        above = [*above[: depth + 1], own]
    extra = {code: total for code in missing if code not in parent and code != total}
    return Hierarchy(parent=parent | extra, total=total, labels=same | _known(labels or {}, {*parent, *extra, total}))


def _own_code(line: ArgusLine, code: str, above: str, taken: Mapping[str, str], total: str, *, aggregate: bool) -> str:
    """The code itself; an aggregate that is called like another gets the code above it added (offices' files have such)."""
    if code not in taken and code != total:
        return code
    if not aggregate or code == total or f"{code} ({above})" in taken:
        raise line.fault(f"code {code!r} is there twice", hint="A code has one place in the tree, and the total is not written.")
    return f"{code} ({above})"


def _leads(line: ArgusLine, lead: str) -> tuple[int, str]:
    depth, rest = 0, line.text
    while rest.startswith(lead) and rest != lead:
        depth, rest = depth + 1, rest[len(lead) :]
    if not rest.strip() or "\t" in rest:
        raise line.fault("no code, or a tab in it")
    return depth, rest.rstrip()


def _known(labels: Mapping[str, str], codes: set[str]) -> dict[str, str]:
    """Labels of the codes there are; a code list may pad its codes otherwise."""
    by_text = {code.strip(): code for code in sorted(codes)}
    found = {code if code in codes else by_text.get(code.strip(), ""): label for code, label in labels.items()}
    found.pop("", None)
    return found


def write_tree(tree: Hierarchy, path: str | Path, *, lead: str = "@") -> None:
    """Write a .hrc file; a tree that would read back as another is refused."""
    codes = tree.codes[1:]
    for code in codes:
        if code.startswith(lead) or code != code.rstrip() or "\t" in code or not fits_line(code):
            raise HierarchyError(
                f"A .hrc file with lead string {lead!r} cannot hold the code {code!r}.",
                hint="Choose another lead string, or a code without blanks at its end.",
            )
    with Path(path).open("w", encoding="utf-8", newline="\r\n") as file:
        file.writelines(f"{lead * (tree.depth[code] - 1)}{code}\n" for code in codes)


def read_labels(path: str | Path) -> dict[str, str]:
    """A .cdl file: `code,label` per line. Blanks before a code belong to it."""
    labels: dict[str, str] = {}
    for line in read_lines(Path(path)):
        code, comma, label = line.text.partition(",")
        if not comma or not code.strip():
            raise line.fault("a line reads: code,label")
        if code.rstrip() in labels:
            raise line.fault(f"code {code.rstrip()!r} is there twice")
        labels[code.rstrip()] = label.strip()
    return labels


def write_labels(labels: Mapping[str, str], path: str | Path) -> None:
    for code, label in labels.items():
        if "," in code or code != code.rstrip() or label != label.strip() or not fits_line(code + label):
            raise FormatError(f"A .cdl file cannot hold the code {code!r} with its label.", hint="Leave commas and line ends out.")
    with Path(path).open("w", encoding="utf-8", newline="\r\n") as file:
        file.writelines(f"{code},{label}\n" for code, label in labels.items())


@dataclass(frozen=True, kw_only=True)
class CodeRange:
    """Codes from `first` to `last` in the order of text; None is open."""

    first: str | None
    last: str | None

    def holds(self, code: str) -> bool:
        return (self.first is None or self.first <= code) and (self.last is None or code <= self.last)


@dataclass(frozen=True, kw_only=True)
class CodeRecoding:
    """A .grc file: `groups` map new codes to the old ones they take in, or `folded` names codes of a tree whose children vanish."""

    groups: Mapping[str, tuple[CodeRange, ...]]
    folded: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    codelist: str | None = None


def read_recoding(path: str | Path) -> CodeRecoding:
    lines = read_lines(Path(path))
    if lines and lines[0].text.strip().upper() == "<TREERECODE>":
        folded = tuple(line.text.rstrip() for line in lines[1:])
        first = {code: place for place, code in reversed(list(enumerate(folded)))}
        twice = next((line for place, line in enumerate(lines[1:]) if first[line.text.rstrip()] < place), None)
        if twice:
            raise twice.fault("the code is there twice")
        return CodeRecoding(groups={}, folded=folded)
    groups: dict[str, tuple[CodeRange, ...]] = {}
    settings: dict[str, list[str]] = {}
    for line in lines:
        if line.text.lstrip().startswith("<"):
            tag, *words = words_of(line)
            settings[_setting(line, tag)] = [word.strip(",") for word in words if word != ","]
        else:
            new, ranges = _group(line)
            if new in groups:
                raise line.fault(f"code {new!r} is there twice")
            groups[new] = ranges
    missing, codelist = settings.get("<MISSING>", []), settings.get("<CODELIST>", [])
    return CodeRecoding(groups=groups, missing=tuple(missing), codelist=codelist[0] if codelist else None)


def _setting(line: ArgusLine, tag: str) -> str:
    if tag.upper() not in ("<MISSING>", "<CODELIST>"):
        raise line.fault(f"unknown tag {tag[:40]}", hint="Known: <TREERECODE> on the first line, <MISSING>, <CODELIST>.")
    return tag.upper()


def _group(line: ArgusLine) -> tuple[str, tuple[CodeRange, ...]]:
    """`new: old, old-old, -old, old-`."""
    new, colon, olds = line.text.partition(":")
    parts = [part.strip() for part in olds.split(",")]
    if not colon or not new.strip() or not all(parts):
        raise line.fault("a line reads: new: old, old-old, -old, old-")
    return new.strip(), tuple(_range(line, part) for part in parts)


def _range(line: ArgusLine, part: str) -> CodeRange:
    first, dash, last = part.partition("-")
    if "-" in last or part == "-":
        raise line.fault("a range of codes has one dash")
    if not dash:
        return CodeRange(first=first, last=first)
    found = CodeRange(first=first.strip() or None, last=last.strip() or None)
    if found.first and found.last and found.first > found.last:
        raise line.fault(f"the range {part[:40]!r} runs backwards")
    return found
