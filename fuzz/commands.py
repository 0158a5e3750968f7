"""Random command lines with nearly valid files, none of which may end in a traceback.

A refused command must print one sentence, leave no files behind and use little memory.
"""

from __future__ import annotations

import contextlib
import io
import re
import resource
import warnings
from collections import Counter
from typing import TYPE_CHECKING

from rich.cells import cell_len

from clusterbandits.cli.main import run
from fuzz.mutations import NUMBERS, WORDS, mutated, pick

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy as np

SHORT = 150
_CODES = {0, 1, 2, 130}
_LONGEST = 500
_MOST_KILOBYTES = 10**6
#: The longest word with which all columns of a table fit.
_SHORT_WORD = 12

_PROBLEM = """family = "bernoulli"
[clusters.red]
width = 0.03
means = { a = 0.41, b = 0.42, c = 0.43 }
[clusters.blue]
means = { d = 0.43, e = 0.44, f = 0.45 }
"""
_STUDY = """title = "Two groups"
note = "Six arms."
horizon = 50
runs = 2
seed = 1
paired = true
checkpoints = 5
policies = ["kl-ucb", { policy = "clus-ucb", label = "ours", a = 1 }]
[[widths]]
factor = 1.0
[[instances]]
name = "ads"
means.red = { a = 0.41, b = 0.42 }
means.blue = { d = 0.43, e = 0.44 }
"""
_DRAWN = """horizon = 50
runs = 2
policies = ["kl-ucb"]
[[instances]]
[instances.random]
count = 2
layout = "scattered"
groups = [1, 2]
arms = [1, 3]
span = [0.01, 0.2]
within = [0.05, 0.95]
"""
_FROM_TABLE = """horizon = 50
runs = 2
policies = ["clus-ucb"]
widths = [{ fixed = 0.1 }, { factor = 2.0 }]
[[instances]]
table = "table.csv"
"""
_COUNTS = """arm,group,trials,successes
a,red,40,4
b,red,50,10
c,blue,30,15
d,blue,1,1
e,green,0,0
"""
_EVENTS = """arm;cluster;click
a;red;0
b;red;1
a;red;1
c;blue;0
"""
_NUMBERED = """arm,group,trials,successes
0,0,40,4
1,0,1,1
"""
_PATHS = (
    "/dev/null",
    "/dev/zero",
    "/dev/null/x",
    "/proc/self/mem",
    ".",
    "..",
    "",
    " ",
    "missing.csv",
    "http:/x",
    "file:x",
)
_ODD_PATHS = (
    "s3://bucket/x",
    "a" * 300,
    "b/" * 2500,
    "n\nl",
    "\x1b[31m",
    "nul\0",
    "\udc80",
    "é.png",
    "[x]",
    "~",
    "-",
    "--",
)


def attempt(rng: np.random.Generator, folder: Path) -> Counter[str]:
    """Run one random command line in an empty folder."""
    arguments = [*pick(rng, _COMMANDS)(rng, folder)]
    if rng.random() < 0.05:
        arguments.insert(
            int(rng.integers(len(arguments) + 1)), pick(rng, (*WORDS, *NUMBERS, "--help", "--nothing"))
        )
    before, memory = _names(folder), _peak()
    code, out, err = _called(arguments, folder)
    said = f"{arguments}\ncode {code}\nstdout: {out[-2000:]}\nstderr: {err[-3000:]}"
    assert code in _CODES, said
    assert "Traceback" not in out + err, said
    assert _peak() - memory < _MOST_KILOBYTES, f"{_peak() - memory} kB\n{said}"
    if code and arguments:
        _check_refusal(err, said)
        assert out == "", said
        assert _names(folder) == before, f"left behind: {_names(folder) - before}\n{said}"
    else:
        _check_output(out, arguments, folder, said)
    return Counter({"command lines": 1, "refused" if code else "done": 1})


def _called(arguments: list[str], folder: Path) -> tuple[int, str, str]:
    """Return the exit code and the output of a command, as in a separate process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors) for errors in ("strict", "backslashreplace"))
    ended: object = "no exit"
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        try:
            run(list(arguments))
        except SystemExit as stop:
            ended = stop.code
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())
    return (ended if isinstance(ended, int) else 0 if ended is None else -1), texts[0], texts[1]


def _check_refusal(err: str, said: str) -> None:
    sentence = err.removesuffix("\n")
    assert sentence.startswith("Error: "), said
    assert sentence.isprintable(), said
    assert sentence.count("Error: ") == 1, said
    assert len(sentence) <= _LONGEST, f"{len(sentence)} letters\n{said}"
    assert "The output cannot be written" not in sentence, said
    assert "The operating system stopped" not in sentence, said


def _check_output(out: str, arguments: Sequence[str], folder: Path, said: str) -> None:
    assert out.replace("\n", "").isprintable(), said
    words = [
        *arguments,
        *(file.read_bytes().decode("utf-8", "replace") for file in folder.glob("*.*") if file.is_file()),
    ]
    plain = all(len(word) <= _SHORT_WORD for text in words for word in re.split(r"[\s,;=\[\]{}\"']+", text))
    if plain and "--json" not in arguments:
        assert max(map(cell_len, out.splitlines()), default=0) <= 80, said


def _names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _file(rng: np.random.Generator, folder: Path, name: str, text: str) -> str:
    """Write a nearly valid file; return its path or, sometimes, another path."""
    chance = rng.random()
    if chance < 0.06:
        return pick(rng, (*_PATHS, *_ODD_PATHS))
    path = folder / name
    if chance < 0.08:
        path.mkdir()
    else:
        path.write_bytes(mutated(rng, text))
        path.chmod(0o000 if chance < 0.09 else 0o644)
    return name


def _options(rng: np.random.Generator, chances: Mapping[str, Sequence[str]], share: float = 0.3) -> list[str]:
    """Return some options with valid values or, sometimes, junk."""
    chosen: list[str] = []
    for option, right in chances.items():
        if rng.random() < share:
            value = pick(rng, (*NUMBERS, *WORDS)) if rng.random() < 0.1 else pick(rng, right)
            chosen += [option, value]
    return chosen


def _few(rng: np.random.Generator, option: str, right: Sequence[str]) -> list[str]:
    """Return an option that is small enough for a test, or invalid."""
    wrong = ("0", "-1", "nan", "1e16", "1.5", "10000000000000000", "x")
    return [option, pick(rng, wrong if rng.random() < 0.08 else right)]


def _flags(rng: np.random.Generator, *names: str) -> list[str]:
    return [name for name in names if rng.random() < 0.25]


def _means(rng: np.random.Generator) -> str:
    chosen = [
        pick(rng, ("0.1", "0.4", "0.5", "0.5", "0", "1", "1e-9", "0.999999"))
        for _ in range(int(rng.integers(1, 6)))
    ]
    text = "".join(mean + pick(rng, (",", ";", "; ")) for mean in chosen).rstrip(",; ")
    return mutated(rng, text).decode("utf-8", "replace") if rng.random() < 0.3 else text


def _problem(rng: np.random.Generator, folder: Path) -> list[str]:
    source = _means(rng) if rng.random() < 0.5 else _file(rng, folder, "ads.toml", _PROBLEM)
    shared = {
        "--widths": ("0", "inf", "0.1", "0.1,0.2", "0.5,inf", "1e-9", "1e300", "-1"),
        "--family": (
            "bernoulli",
            "gaussian",
            "gaussian:sigma=1e-3",
            "poisson",
            "exponential:shape=2",
            "negative-binomial:shape=2",
            "bounded:low=-1,high=2",
            "gaussian:sigma=0",
        ),
    }
    return [source, *_options(rng, shared)]


def _bound(rng: np.random.Generator, folder: Path) -> list[str]:
    horizon: dict[str, Sequence[str]] = {"--horizon": ("1", "2", "1e6", "1e15", "1e16", "0.5")}
    return ["bound", *_problem(rng, folder), *_options(rng, horizon), *_flags(rng, "--arms", "--json")]


def _simulate(rng: np.random.Generator, folder: Path) -> list[str]:
    options = {
        "--policy": (
            "kl-ucb",
            "clus-ucb",
            "clus-ucb:a=5,refresh=50",
            "clus-ucb:a=-1",
            "kl-ucb:b=1",
            "clus",
            "kl-ucb:",
        ),
        "--seed": ("0", "7", "340282366920938463463374607431768211456"),
        "--workers": ("1", "1", "2", "0"),
        "--store": (*["store"] * 10, *_PATHS, *_ODD_PATHS),
        "--plot": ("a.png", "a.gif", "no/a.svg", "/dev/null"),
    }
    few = _few(rng, "--horizon", ("1", "2", "50")) + _few(rng, "--runs", ("1", "2", "3"))
    return [
        "simulate",
        *_problem(rng, folder),
        *few,
        *_options(rng, options, 0.2),
        *_options(rng, {"--dask": ("", "x", "tcp://", "http://x:1", "tcp://x:99999999")}, 0.05),
        *_flags(rng, "--paired", "--json"),
        *_start(rng, folder),
    ]


def _start(rng: np.random.Generator, folder: Path) -> list[str]:
    """Return, sometimes, a history of arms that the instance or the log may have."""
    if rng.random() >= 0.2:
        return []
    return ["--start", _file(rng, folder, "past.csv", pick(rng, (_COUNTS, _EVENTS, _NUMBERED)))]


def _run(rng: np.random.Generator, folder: Path) -> list[str]:
    """Return a study that is read and checked; few are simulated, which takes a second."""
    if rng.random() < 0.1:
        (folder / "study.toml").write_bytes(_STUDY.encode())
        return ["run", "study.toml", *_options(rng, {"--out": (*["out"] * 20, *_PATHS, *_ODD_PATHS)})]
    text = pick(rng, (_STUDY, _STUDY, _DRAWN, _FROM_TABLE))
    if text is _FROM_TABLE:
        (folder / "table.csv").write_bytes(mutated(rng, pick(rng, (_COUNTS, _EVENTS))))
    file = _file(rng, folder, "study.toml", text)
    return ["run", file, *pick(rng, (["--workers", "0"], ["--out", "/dev/null"], ["--dask", "x"]))]


def _advise(rng: np.random.Generator, folder: Path) -> list[str]:
    options = {
        "--confidence": ("0.5", "0.9999", "0.95", "1"),
        "--seed": ("0", "-1"),
        "--high": ("1", "0", "nan"),
        "--workers": ("1", "0"),
        "--picture": ("a.svg", "a.svg", "a.txt", "no/a.png"),
        "--study": ("next.toml", "next.toml", "next.txt", "no/next.toml"),
    }
    file = _file(rng, folder, "table.csv", pick(rng, (_COUNTS, _EVENTS)))
    few = _few(rng, "--horizon", ("1", "20")) + _few(rng, "--worlds", ("2", "3"))
    return ["advise", file, *few, *_options(rng, options, 0.15), *_flags(rng, "--json")]


def _replay(rng: np.random.Generator, folder: Path) -> list[str]:
    shown = [pick(rng, ("a,{},g", "b,{},g", "c,{},h")) for _ in range(pick(rng, (0, 1, 5, 60, 200, 400)))]
    rows = [f"{time},{one.format(int(rng.integers(2)))}" for time, one in enumerate(shown)]
    head, tail = pick(
        rng, (("time,arm,reward,group", ""), ("time,arm,reward,group,propensity", ",0.3333333"))
    )
    log = "\n".join([head, *(row + tail for row in rows), ""])
    options = {
        "--policy": ("kl-ucb", "clus-ucb", "clus-ucb", "kl-ucb:a=1", "tlp"),
        "--rounds": ("1", "5", "5", "1e15"),
        "--confidence": ("0.9", "0.5", "0.99", "1"),
        "--family": ("bernoulli", "bernoulli", "gaussian", "poisson", "beta"),
        "--seed": ("0", "5", "-1"),
    }
    widths = {"--widths": ("0.1", "g=0.1,h=0", "0.1,0.2", "inf", "g=0.1", "g=0.1,0.2", "x", "-1")}
    return [
        "replay",
        _file(rng, folder, "log.csv", log),
        *_options(rng, options, 0.2),
        *_options(rng, widths, 0.6),
        *_flags(rng, "--arms", "--json"),
        *_start(rng, folder),
    ]


def _paper(rng: np.random.Generator, folder: Path) -> list[str]:
    """Return options of which at least one is always refused, because the paper takes minutes."""
    (folder / "file").touch()
    options = {
        "--figure": ("1", "9", "x"),
        "--a": ("0", "-1"),
        "--refresh": ("1", "0"),
        "--seed": ("-1", "0"),
    }
    wrong = (
        ["--runs", "1"],
        ["--horizon", "1"],
        ["--runs", "1000000"],
        ["--out", "file"],
        ["--out", "/dev/null/x"],
    )
    return ["paper", *_options(rng, options), *pick(rng, wrong)]


def _example(rng: np.random.Generator, folder: Path) -> list[str]:
    del folder
    name = pick(rng, (*["start", "table", "paper"] * 10, *WORDS, *_ODD_PATHS))
    return [
        "example",
        name,
        *_options(rng, {"--out": (*["x.toml"] * 20, *_PATHS, *_ODD_PATHS)}),
        *_flags(rng, "--schema"),
    ]


def _other(rng: np.random.Generator, folder: Path) -> list[str]:
    del folder
    return [
        *pick(
            rng,
            (
                [],
                ["policies"],
                ["policies", "--json"],
                ["--version"],
                ["unknown"],
                ["example"],
                ["--nothing"],
            ),
        )
    ]


_COMMANDS: Sequence[Callable[[np.random.Generator, Path], list[str]]] = (
    *(_bound, _bound, _bound, _simulate, _simulate, _replay, _replay, _advise, _advise),
    *(_run, _run, _paper, _example, _other),
)
