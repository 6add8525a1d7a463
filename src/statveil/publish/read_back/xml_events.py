"""XML element by element, without a document type: nothing in a file can name another file or grow beyond its own bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO
from xml.parsers import expat

from statveil.core.errors import FormatError
from statveil.publish.read_back.shown import TUNING


def ignored(*_: object) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class XmlListener:
    """What to do with an element's start, its end and its text. A name is its namespace, a blank, and itself."""

    start: Callable[[str, Mapping[str, str]], None] = ignored
    end: Callable[[str], None] = ignored
    text: Callable[[str], None] = ignored


def read_xml(stream: IO[bytes], listener: XmlListener, *, name: str, most: int) -> None:
    """Hear a whole file of at most so many bytes."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = listener.start
    parser.EndElementHandler = listener.end
    parser.CharacterDataHandler = listener.text

    def refuse(*_: object) -> None:
        raise FormatError(f"{name} has a document type, which no file of ours has.", hint="Take it from the release again.")

    parser.StartDoctypeDeclHandler = refuse
    size = 0
    try:
        while piece := stream.read(TUNING.piece):
            size += len(piece)
            if size > most:
                raise FormatError(f"{name} unpacks to more than any file of this release can hold.", hint="Take it from the release again.")
            parser.Parse(piece, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise FormatError(f"{name}, line {error.lineno}: not XML.", hint="Take it from the release again.") from None
