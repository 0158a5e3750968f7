"""Junk, and nearly valid files: the text of a valid file with a few changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

T = TypeVar("T")

NUMBERS = (
    *(
        "0",
        "1",
        "-1",
        "-0.0",
        "0.5",
        "1e-9",
        "5e-324",
        "1e-100",
        "1e9",
        "1e15",
        "1e16",
        "1e100",
        "1e308",
        "1e400",
    ),
    *(
        "nan",
        "inf",
        "-inf",
        "10000000000",
        "9" * 400,
        "9" * 5000,
        "0x" + "f" * 4500,
        "1_000",
        "1,5",
        "50%",
        "٣",
    ),
    *("true", "", " ", "+", "0.1.2", "1e", "--1", "0b1", "1" + "0" * 30),
)
WORDS = (
    *(
        "",
        " ",
        "\t",
        "a\nb",
        "a\r\nb",
        "\x1b[31mred\x1b[0m",
        "\x9b2J",
        "\x00",
        "\x7f",
        "\u202etfel",
        "\u200b",
        "\ufeff",
    ),
    *(
        "x" * 5000,
        "é" * 300,
        "🐱" * 40,
        "[/bold]",
        "[red]",
        "=1+1",
        '"',
        "'",
        "\\",
        "#",
        "{",
        "]",
        "=",
        ",",
        ";",
        "{}",
    ),
    *(
        "0",
        "None",
        "nan",
        "arm",
        "group",
        "../..",
        "http:/x",
        "file:x",
        "s3://bucket",
        "%s",
        "{0}",
        "<b>&amp;",
    ),
)
_TOKEN = re.compile(r"[^\s,;=\[\]{}\"']+")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d.eE+-]*")


def pick(rng: np.random.Generator, among: Sequence[T]) -> T:
    """Return a random element."""
    return among[int(rng.integers(len(among)))]


def mutated(rng: np.random.Generator, text: str) -> bytes:
    """Return the bytes of a text with up to three changes, sometimes in another encoding."""
    for _ in range(int(rng.choice(4, p=(0.25, 0.45, 0.2, 0.1)))):
        text = pick(rng, _TEXT_CHANGES)(rng, text)
    content = text.encode("utf-8", "surrogatepass")
    return pick(rng, _BYTE_CHANGES)(rng, content) if rng.random() < 0.12 else content


def _replaced(rng: np.random.Generator, text: str, what: re.Pattern[str], among: Sequence[str]) -> str:
    found = list(what.finditer(text))
    if not found:
        return text
    one = pick(rng, found)
    return text[: one.start()] + pick(rng, among) + text[one.end() :]


def _other_number(rng: np.random.Generator, text: str) -> str:
    return _replaced(rng, text, _NUMBER, NUMBERS)


def _other_word(rng: np.random.Generator, text: str) -> str:
    return _replaced(rng, text, _TOKEN, WORDS)


def _swapped_words(rng: np.random.Generator, text: str) -> str:
    found = list(_TOKEN.finditer(text))
    return _replaced(rng, text, _TOKEN, [one.group() for one in found]) if found else text


def _lines_changed(rng: np.random.Generator, text: str) -> str:
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    place = int(rng.integers(len(lines)))
    changes: Sequence[list[str]] = ([], [lines[place]] * 2, ["\n", lines[place]], [pick(rng, lines)])
    return "".join([*lines[:place], *pick(rng, changes), *lines[place + 1 :]])


def _cut_off(rng: np.random.Generator, text: str) -> str:
    return text[: int(rng.integers(len(text) + 1))]


def _nested(rng: np.random.Generator, text: str) -> str:
    depth = pick(rng, (3, 50, 2000))
    return _replaced(rng, text, _NUMBER, ["[" * depth + "0" + "]" * depth])


def _other_line_ends(rng: np.random.Generator, text: str) -> str:
    return text.replace("\n", pick(rng, ("\r\n", "\r", "\n\n", "\x0b", "\u2028")))


def _flipped(rng: np.random.Generator, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 4)) if changed else 0):
        changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
    return bytes(changed)


def _other_encoding(rng: np.random.Generator, content: bytes) -> bytes:
    text = content.decode("utf-8", "replace")
    return text.encode(pick(rng, ("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig")), "replace")


def _junk(rng: np.random.Generator, content: bytes) -> bytes:
    del content
    return pick(rng, (b"", b"\n", b"\xef\xbb\xbf", b"\0", b"PAR1", rng.bytes(200)))


def _header_bytes(rng: np.random.Generator, content: bytes) -> bytes:
    return pick(rng, (b"\xff", b"\xe9,", b"\xf0\x9f", b"\0")) + content


_TEXT_CHANGES: Sequence[Callable[[np.random.Generator, str], str]] = (
    _other_number,
    _other_number,
    _other_word,
    _other_word,
    _swapped_words,
    _lines_changed,
    _cut_off,
    _nested,
    _other_line_ends,
)
_BYTE_CHANGES: Sequence[Callable[[np.random.Generator, bytes], bytes]] = (
    _flipped,
    _other_encoding,
    _junk,
    _header_bytes,
)
