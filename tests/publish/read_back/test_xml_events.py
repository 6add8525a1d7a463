"""XML of which no file of ours is made is refused before it can do anything."""

from __future__ import annotations

import io

import pytest

from statveil.core.errors import FormatError
from statveil.publish.read_back.xml_events import XmlListener, read_xml

BOMB = b"""<?xml version="1.0"?>
<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;&x;&x;&x;&x;&x;&x;"><!ENTITY z "&y;&y;&y;&y;&y;&y;&y;&y;">]>
<a>&z;</a>"""
OUTSIDE = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><a>&x;</a>'


def heard(content: bytes, *, most: int = 10_000) -> list[str]:
    words: list[str] = []
    read_xml(io.BytesIO(content), XmlListener(start=lambda name, _: words.append(name), text=words.append), name="x.xml", most=most)
    return words


def test_elements_have_their_namespace_and_their_text() -> None:
    assert heard(b'<a xmlns="urn:one"><b xmlns="urn:two">hi</b></a>') == ["urn:one a", "urn:two b", "hi"]


@pytest.mark.parametrize("content", [BOMB, OUTSIDE, OUTSIDE.decode().encode("utf-16")])
def test_a_document_type_is_refused_whatever_it_says(content: bytes) -> None:
    with pytest.raises(FormatError, match="document type"):
        heard(content)


def test_too_many_bytes_are_refused() -> None:
    with pytest.raises(FormatError, match="unpacks to more"):
        heard(b"<a>" + b" " * 200 + b"</a>", most=100)


@pytest.mark.parametrize("content", [b"", b"<a>", b"<a></b>", b"<a>&nbsp;</a>", b"text"])
def test_what_is_no_xml_is_refused_with_its_line(content: bytes) -> None:
    with pytest.raises(FormatError, match="line 1: not XML"):
        heard(content)
