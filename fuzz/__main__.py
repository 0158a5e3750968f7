"""``python -m fuzz [NAME ...]``: run fuzzers for some minutes; report what was tested and found."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING

from clusterbandits.tables import Table
from fuzz.batch import FUZZERS, attempt
from fuzz.campaign import Job, Report, run

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Run fuzzers; return 1 if there are findings."""
    given = _parser().parse_args(arguments)
    names = given.names or list(FUZZERS)
    if given.case is not None:
        return _again(names, given)
    modes = {name: ([True] if given.checked else [False, True][: 1 + FUZZERS[name]]) for name in names}
    jobs = [Job(name, checked) for name in names for checked in modes[name]]
    report = run(jobs, given.seed, given.minutes, given.workers, _say)
    if given.json:
        print(json.dumps(_data(report), indent=2))
    else:
        print(_table(report).text())
        for finding in report.findings:
            print(f"\n{finding.command}\n{finding.error}")
    return int(bool(report.findings))


def _again(names: Sequence[str], given: argparse.Namespace) -> int:
    if len(names) != 1:
        print("Error: --case needs the name of one fuzzer.", file=sys.stderr)
        return 2
    if given.checked and not os.environ.get("CLUSTERBANDITS_CHECKED"):
        # The mode is fixed when kernels are imported.
        environment = {**os.environ, "CLUSTERBANDITS_CHECKED": "1"}
        os.execve(sys.executable, [sys.executable, "-m", "fuzz", *sys.argv[1:]], environment)
    print(dict(attempt(names[0], given.seed, given.case)))
    return 0


def _table(report: Report) -> Table:
    rows, notes = [], []
    for job, tried in report.tried.items():
        found = sum(finding.job == job for finding in report.findings)
        rows.append((str(job), tried["cases"], found))
        details = ", ".join(f"{count:,} {what}" for what, count in tried.items() if what != "cases")
        notes.append(f"{job}: {details or 'nothing'}.")
    title = "Random attempts to break the package"
    return Table(("fuzzer", "cases", "findings"), tuple(rows), title, tuple(notes))


def _data(report: Report) -> dict[str, object]:
    tried = {str(job): dict(counts) for job, counts in report.tried.items()}
    found = [{"command": one.command, "error": one.error} for one in report.findings]
    return {"tried": tried, "findings": found}


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    add = parser.add_argument
    known = ", ".join(FUZZERS)
    add("names", nargs="*", choices=[[], *FUZZERS], metavar="NAME", help=f"among {known}; default: all")
    add("--minutes", type=float, default=30.0, help="how long, default %(default)s")
    add("--seed", type=int, default=0, help="decides all cases, default %(default)s")
    add("--workers", type=int, default=os.cpu_count() or 1, help="batches at a time, default: one per core")
    add("--case", type=int, help="make one attempt again, by its number")
    add(
        "--checked",
        action="store_true",
        help="only kernels with bounds checks",
    )
    add("--json", action="store_true", help="print the report as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
