"""Names that try to break out of wherever they are written."""

from __future__ import annotations

#: Each would set ``window.hacked`` if a browser ran it.
SCRIPTS = (
    "<script>window.hacked=1</script>",
    '<img src=x onerror="window.hacked=1">',
    '"><svg onload="window.hacked=1">',
    "' onmouseover='window.hacked=1",
    "</title></text></svg><script>window.hacked=1</script>",
    "]]><script>window.hacked=1</script><![CDATA[",
    "--><script>window.hacked=1</script><!--",
    "</style></script><iframe src=javascript:window.hacked=1>",
    "{{ 7*7 }}{% raw %}&lt;b&gt;",
    "&#60;script&#62;window.hacked=1&#60;/script&#62;",
)
MARKDOWN = (
    "a|b || c",
    "`code` ``` ~~~ \\` \\|",
    "[x](javascript:alert(1)) ![y](http://evil.test/y.png) <http://evil.test>",
    "[x]: http://evil.test 'title'",
    "# heading",
    "- item",
    "1. item",
    "> quote",
    "---",
    "*strong* __strong__ ~~gone~~ $x$",
    "www.evil.test https://evil.test/?a=b&c me@evil.test",
)
MATHS = ("$\\frac", "$\\frac$", "$x^2_i$ costs \\$5", "a_b^c \\alpha {}", "$$")
FORMULAS = ("=1+1", "+1", "-1+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1+1", "\r=1+1", "＝1+1", " =1+1")
CONTROLS = (
    "line\nbreak\r\nand\ttab",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "nul\x00del\x7fc1\x9b31m",
    "\u202egnp.exe\u202c \u2066isolated\u2069 \u200f",
    "bom\ufeff\u2028\u2029\ufffe\uffff",
)
LETTERS = (
    "_hidden",
    "quote \" apostrophe ' back\\slash \\n \\u0041 \\",
    "e\u0301\u0323" + "\u0301" * 20,
    "😀👩‍💻🇩🇪",
    "שלום مرحبا नमस्ते 東京",
    "long " + "x" * 3000,
    "long words " * 300,
    "../../etc/passwd",
    "%s %(x)d {0} {x}",
)
HOSTILE = (*SCRIPTS, *MARKDOWN, *MATHS, *FORMULAS, *CONTROLS, *LETTERS)
#: Control characters of terminals, and those that turn the direction of writing.
OBEYED = frozenset(
    map(chr, (*range(32), *range(127, 160), 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
)
