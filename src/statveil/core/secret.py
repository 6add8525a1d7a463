"""The secret key: everything that must stay the same for ever is drawn from it. It never shows in text, logs or the store.

An office has one key for its releases: `office_key` finds it, and makes it where there is none yet.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
import tempfile
import warnings
from hashlib import blake2b, shake_256
from pathlib import Path

from statveil.core.errors import InputError

KEY_BYTES = 32
_TAG = 32
MODE = 0o600
KEY_VARIABLE = "STATVEIL_KEY"


class SecretKey:
    """A key of 32 bytes or more, from a file of mode 0600 or from the environment. `counter` is the file beside it (F18)."""

    __slots__ = ("_key", "counter")

    def __init__(self, key: bytes, *, counter: Path | None = None) -> None:
        if len(key) < KEY_BYTES:
            raise InputError(
                f"The secret key has fewer than {KEY_BYTES} bytes.",
                hint="A key is 64 hexadecimal digits; `statveil serve --new-key FILE` makes one.",
            )
        self._key = blake2b(key, digest_size=64).digest()
        self.counter = counter

    def __repr__(self) -> str:
        return "SecretKey(***)"

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("A secret key is not written anywhere.")

    def with_counter(self, counter: Path) -> SecretKey:
        """The same key with another counter file: for a store that is thrown away."""
        other = SecretKey.__new__(SecretKey)
        other._key, other.counter = self._key, counter
        return other

    def digest(self, purpose: str, *parts: bytes, size: int = 16) -> bytes:
        """A keyed digest of the parts for one purpose; each part's length goes before it."""
        found = blake2b(key=self._key, digest_size=size, person=purpose.encode()[:16])
        for part in parts:
            found.update(len(part).to_bytes(8, "little"))
            found.update(part)
        return found.digest()

    @property
    def fingerprint(self) -> str:
        """Names the key without telling it."""
        return self.digest("fingerprint", size=8).hex()

    def hasher(self, purpose: str, *prefix: bytes, size: int = 16) -> blake2b:
        """A keyed hash to copy and go on with: for many digests that begin alike."""
        found = blake2b(key=self._key, digest_size=size, person=purpose.encode()[:16])
        for part in prefix:
            found.update(len(part).to_bytes(8, "little"))
            found.update(part)
        return found

    def matches(self, purpose: str, check: bytes, *parts: bytes) -> bool:
        return hmac.compare_digest(self.digest(purpose, *parts, size=len(check)), check)

    def seal(self, purpose: str, content: bytes) -> bytes:
        """The content, unreadable and unchangeable without the key; the same content is sealed to the same bytes.

        A synthetic initialisation vector (Rogaway and Shrimpton 2006): the keyed digest of the content goes first, vouches for it, and
        begins the stream (SHAKE-256 of a key of its own) that hides it.
        """
        tag = self.digest(purpose, content, size=_TAG)
        return tag + self._hidden(purpose, tag, content)

    def unseal(self, purpose: str, sealed: bytes) -> bytes | None:
        """What was sealed for this purpose; None where it was changed, or sealed with another key."""
        tag, hidden = sealed[:_TAG], sealed[_TAG:]
        content = self._hidden(purpose, tag, hidden)
        return content if hmac.compare_digest(tag, self.digest(purpose, content, size=_TAG)) else None

    def _hidden(self, purpose: str, tag: bytes, content: bytes) -> bytes:
        stream = shake_256(self.digest("stream", purpose.encode(), tag, size=64)).digest(len(content))
        return (int.from_bytes(content, "little") ^ int.from_bytes(stream, "little")).to_bytes(len(content), "little")

    @classmethod
    def from_file(cls, path: Path, *, counter: Path | None = None) -> SecretKey:
        """The key in hexadecimal, in a file that only its owner may read."""
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            raise InputError(f"The key file {path} cannot be opened.", hint="`statveil serve --new-key FILE` makes one.") from None
        with os.fdopen(handle, "rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise InputError(f"The key file {path} may be read by others (mode {mode:04o}).", hint=f"chmod 600 {path}")
            text = file.read(4096)
        return cls(_bytes_of(text, str(path)), counter=counter or path.with_name(path.name + ".counter"))

    @classmethod
    def from_environment(cls, name: str, *, counter: Path | None = None) -> SecretKey:
        text = os.environ.get(name)
        if not text:
            raise InputError(f"The environment variable {name} holds no key.", hint="Set it, or name a key file.")
        return cls(_bytes_of(text.encode(), f"The environment variable {name}"), counter=counter)


def office_key_file() -> Path:
    """Where the key of this user's releases lies, unless a job or the environment says otherwise."""
    home = os.environ.get("XDG_CONFIG_HOME") or str(Path("~/.config").expanduser())
    return Path(home) / "statveil" / "office.key"


def office_key(*, make: bool) -> SecretKey:
    """The key that releases are drawn by: of the environment, or of this user's file, which is made on first use and said so."""
    if os.environ.get(KEY_VARIABLE):
        return SecretKey.from_environment(KEY_VARIABLE)
    path = office_key_file()
    if make and not os.path.exists(path) and _made_once(path):  # unlike Path.exists, no error where a folder may not be entered
        warnings.warn(f"A new secret key was made: {path}. Keep it safe: releases are drawn by it, now and in later years.", stacklevel=2)
    if not os.path.exists(path):
        raise InputError("There is no key that this release could have been drawn by.", hint=_WHERE)
    return SecretKey.from_file(path)


_WHERE = f"Name its file in the job ([protection] key), or set {KEY_VARIABLE} to the key in hexadecimal."


def _made_once(path: Path) -> bool:
    """Two first runs at once make one key: it is written elsewhere and linked into place, whoever comes first. True: it was this one."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as place:
            new_key_file(Path(place) / path.name)
            return _linked(Path(place) / path.name, path)
    except OSError as error:
        raise InputError(f"The key file {path} cannot be made: {error.strerror}.", hint=_WHERE) from None


def _linked(made: Path, path: Path) -> bool:
    try:
        os.link(made, path)
    except FileExistsError:
        return False
    return True


def new_key_file(path: Path) -> None:
    """Write a new key; an existing file is never overwritten."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE)
    except FileExistsError:
        raise InputError(f"{path} exists.", hint="A key is never overwritten: choose another name.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(KEY_BYTES) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _bytes_of(text: bytes, origin: str) -> bytes:
    try:
        return bytes.fromhex(text.strip().decode("ascii"))
    except (ValueError, UnicodeDecodeError):
        raise InputError(f"{origin} does not hold a key in hexadecimal.") from None
