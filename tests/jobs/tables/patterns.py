"""Patterns as files."""

from __future__ import annotations

from pathlib import Path

HEAD = '"T","T",100,90,V\n"T","u",45,40,V\n"T","v",55,50,V\n"A","T",30,20,V\n"B","T",70,70,V\n'
SAFE = HEAD + '"A","u",15,9,B,90.0\n"A","v",15,11,D\n"B","u",30,31,D\n"B","v",40,39,D\n'
OPEN = HEAD + '"A","u",15,9,B,90.0\n"A","v",15,11,V\n"B","u",30,31,D\n"B","v",40,39,D\n'


def file(folder: Path, text: str, name: str = "t.sbs") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
