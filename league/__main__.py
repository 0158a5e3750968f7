"""``python -m league``: all policies on all problems; with ``--out``, a part of them in another folder."""

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
from league.cells import Settings, has_cell
from league.problems import choose
from league.run import Places, run_league

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Run a league and print its advice; after invalid input, print one sentence and return 2."""
    given = _parser().parse_args(arguments)
    try:
        return _run(given, shlex.join(["python", "-m", "league", *arguments]))
    except ClusterBanditsError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted. Run the same command again to continue.", file=sys.stderr)
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
        allowed = "a folder if only a part of the league is run, so that its page is not replaced"
        raise invalid("--out", "league", allowed, Described("none"))
    places = Places() if given.out is None else Places.in_folder(given.out)
    problems = choose(given.problems)
    if not any(has_cell(problem, name) for problem in problems for name in policies):
        allowed = "policies that can begin with a history, or --problems be others"
        raise invalid("--policies", "league", allowed, Described(", ".join(policies)))
    board = run_league(problems, list(dict.fromkeys(policies)), settings, places, command, _say)
    for sentence in advice(board):
        print(re.sub(r"[*`]", "", sentence))
    print(f"\nWritten: {places.page}")
    return 0


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    usual = Settings()
    parser = argparse.ArgumentParser(prog="python -m league", description=__doc__)
    add = parser.add_argument
    add("--runs", type=float, default=usual.runs, help="runs per policy and problem, default %(default)s")
    add("--horizon", type=float, default=usual.horizon, help="rounds per run, default %(default)s")
    add("--seed", type=int, default=usual.seed, help="random seed, default %(default)s")
    add("--policies", type=_names, default=[], help="such as kl-ucb,clus-ucb; default: all")
    add("--problems", type=_names, default=[], help="such as 'figure 2,ads (spans)'; default: all")
    add("--out", type=Path, help="folder for results.json, league.md, league.svg and league.csv")
    return parser


def _names(text: str) -> list[str]:
    """Split at commas outside parentheses: ``ads (after 12,000 trials)`` is one name."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
