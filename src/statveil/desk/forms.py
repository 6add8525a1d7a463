"""What a form sent: its words, and the file that came with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated

from fastapi import Depends, Request
from starlette.datastructures import UploadFile

from statveil.core.errors import InputError

Words = Mapping[str, Sequence[str]]


class Form(dict[str, list[str]]):
    """The words of a form, and its file, which is closed when the request ends."""

    file: UploadFile | None = None


async def read_form(request: Request) -> AsyncIterator[Form]:
    form = Form()
    async with request.form(max_fields=2_000) as given:
        for name, value in given.multi_items():
            if isinstance(value, UploadFile):
                form.file = value
            else:
                form.setdefault(name, []).append(value)
        yield form


Given = Annotated[Form, Depends(read_form)]


def word(form: Words, name: str) -> str:
    return form.get(name, [""])[0].strip()


def number(text: str, what: str) -> int | float:
    """Kept as it is written: 10 stays a whole number."""
    try:
        return int(text) if text.lstrip("-").isascii() and text.lstrip("-").isdigit() else float(text.replace(",", "."))
    except ValueError:
        raise InputError(f"{what} must be a number.") from None
