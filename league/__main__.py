"""``python -m league``: play every policy on every problem; with ``--out``, any part of that in a folder."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbandits.errors import ClusterBanditsError
from clusterbandits.limits import LARGEST_SEED
from clusterbandits.policies import POLICIES
from clusterbandits.validate import Described, choice, invalid, whole
from league.advice import advice
from league.cells import Settings
from league.problems import choose
from league.run import Places, run_league

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Run a league and print its advice; what is refused is one sentence and exit code 2."""
    given = _parser().parse_args(arguments)
    try:
        return _run(given, shlex.join(["python", "-m", "league", *arguments]))
    except ClusterBanditsError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted; the same command goes on from here.", file=sys.stderr)
        return 130


def _run(given: argparse.Namespace, command: str) -> int:
    usual = Settings()
    settings = Settings(
        horizon=whole("--horizon", "league", given.horizon, least=1),
        runs=whole("--runs", "league", given.runs, least=1, most=10**6),
        seed=whole("--seed", "league", given.seed, least=0, most=LARGEST_SEED),
    )
    policies = [choice("--policies", "league", name, POLICIES) for name in given.policies] or list(POLICIES)
    if given.out is None and (settings != usual or given.policies or given.problems):
        allowed = "a folder where the league is not the whole one, whose page it would replace"
        raise invalid("--out", "league", allowed, Described("none"))
    places = Places() if given.out is None else Places.in_folder(given.out)
    problems = choose(given.problems)
    board = run_league(problems, list(dict.fromkeys(policies)), settings, places, command, _say)
    uses_widths = {name: kind.uses_widths for name, kind in POLICIES.items()}
    for sentence in advice(board, uses_widths):
        print(re.sub(r"[*`]", "", sentence))
    print(f"\nWritten: {places.page}")
    return 0


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    usual = Settings()
    parser = argparse.ArgumentParser(prog="python -m league", description=__doc__)
    add = parser.add_argument
    add("--runs", type=float, default=usual.runs, help="runs of a cell, default %(default)s")
    add("--horizon", type=float, default=usual.horizon, help="rounds of a run, default %(default)s")
    add("--seed", type=int, default=usual.seed, help="decides all randomness, default %(default)s")
    add("--policies", type=_names, default=[], help="such as kl-ucb,clus-ucb; default: all")
    add("--problems", type=_names, default=[], help="such as 'figure 2,telltale'; default: all")
    add("--out", type=Path, help="a folder for results.json, league.md and league.svg")
    return parser


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
