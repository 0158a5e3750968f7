"""`python docs/spelling.py`: check words and phrases.

Every word of the documents is looked up in a dictionary and in docs/words.txt. The documents, and the
comments and strings in the sources, must not have the phrases of docs/phrases.txt, which are regular
expressions.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from spylls.hunspell import Dictionary

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "gallery").rglob("*.md")]
SOURCES = [*(ROOT / "src").rglob("*.py"), *(ROOT / "gallery").rglob("*.py")]
#: What is not text in a comment or a string: code, and the marks at the ends.
_MARKS = re.compile(r"``.*?``|^#:?|^[a-zA-Z]*['\"]+|['\"]+$", re.DOTALL)
_MADE = ("docs/_build/", "docs/reference/api/", "docs/reference/generated/")


def prose(text: str) -> str:
    """Return the words of a page that people read: no code, formulas, directives, templates or addresses."""
    parser = MarkdownIt("commonmark").enable("table").use(front_matter_plugin).use(dollarmath_plugin)
    text = re.sub(r"{%.*?%}|{{.*?}}", "", text)  # templates of the gallery
    lines = [line for line in text.splitlines() if not re.match(r":{3,}|:[\w-]+:|\(\w[\w-]*\)=", line)]
    tokens = parser.parse("\n".join(lines))
    inside = (child for token in tokens for child in token.children or ())
    return " ".join(child.content if child.type == "text" else "\n" for child in inside)


def unknown_words(text: str, known: set[str], dictionary: Dictionary) -> list[str]:
    """Return the words that are neither known nor in the dictionary, without names such as KLUCB."""
    words = set(re.findall(r"(?<![\w.@_/-])[^\W\d_][^\W\d_’']*[^\W\d_](?![\w@_/])", prose(text)))
    plain = (word for word in words if word[1:].islower() and word.isascii())
    return sorted(
        word
        for word in plain
        if word.lower() not in known and not any(map(dictionary.lookup, {word, word.lower()}))
    )


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the comments and strings of a Python file with their lines, adjacent ones as one text."""
    parts: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in {tokenize.COMMENT, tokenize.STRING}:
            parts.append(token)
        elif parts and token.type != tokenize.NL:
            yield parts[0].start[0], " ".join(_MARKS.sub("", part.string) for part in parts)
            parts = []


def bad_phrases(text: str, phrases: dict[str, str]) -> list[str]:
    """Return the phrases in a text that have to be avoided, each with what to write instead."""
    words = " ".join(text.split())
    found = (
        (re.search(rf"(?<!\w){phrase}(?!\w)", words, re.IGNORECASE), instead)
        for phrase, instead in phrases.items()
    )
    return [f"'{match[0]}': write {instead}" for match, instead in found if match]


def _complaints() -> Iterator[str]:
    dictionary = Dictionary.from_files("en_US")
    known = set((ROOT / "docs" / "words.txt").read_text(encoding="utf-8").lower().split())
    lines = (ROOT / "docs" / "phrases.txt").read_text(encoding="utf-8").splitlines()
    phrases = dict(line.split("->") for line in lines)
    for page in sorted(PAGES):
        name, text = page.relative_to(ROOT).as_posix(), page.read_text(encoding="utf-8")
        if not name.startswith(_MADE):
            yield from (f"{name}: unknown word '{word}'" for word in unknown_words(text, known, dictionary))
            yield from (f"{name}: {phrase}" for phrase in bad_phrases(prose(text), phrases))
    for source in sorted(SOURCES):
        for line, text in texts(source.read_text(encoding="utf-8")):
            for phrase in bad_phrases(text, phrases):
                yield f"{source.relative_to(ROOT).as_posix()}:{line}: {phrase}"


def main() -> int:
    """Print the unknown words of every page, and the phrases that have to be avoided."""
    wrong = list(_complaints())
    if wrong:
        print(*wrong, sep="\n", file=sys.stderr)
        print("Correct the texts, or add words to docs/words.txt.", file=sys.stderr)
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())
