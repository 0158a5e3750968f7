"""`python docs/spelling.py`: look up every word of the documents in a dictionary and in docs/words.txt."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from spylls.hunspell import Dictionary

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
_MADE = ("docs/_build/", "docs/reference/api/", "docs/reference/generated/")


def prose(text: str) -> str:
    """Return the words of a page that people read: no code, formulas, directives or addresses."""
    parser = MarkdownIt("commonmark").enable("table").use(front_matter_plugin).use(dollarmath_plugin)
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


def main() -> int:
    """Print the unknown words of every page."""
    dictionary = Dictionary.from_files("en_US")
    known = set((ROOT / "docs" / "words.txt").read_text(encoding="utf-8").lower().split())
    wrong = 0
    for page in sorted(PAGES):
        name = page.relative_to(ROOT).as_posix()
        if not name.startswith(_MADE):
            for word in unknown_words(page.read_text(encoding="utf-8"), known, dictionary):
                print(f"{name}: unknown word '{word}'", file=sys.stderr)
                wrong += 1
    if wrong:
        print("Correct the words, or add them to docs/words.txt.", file=sys.stderr)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
