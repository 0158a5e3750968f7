"""Progress of long commands whose stderr is a file or a pipe."""

from __future__ import annotations

import re

import pytest

from clusterbandits.cli import progress_bar
from clusterbandits.cli.progress_bar import Lines, campaign_bar, replay_bar
from clusterbandits.simulation import Progress
from clusterbandits.studies.log_survey import ReplayProgress


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress_bar, "time", clock)
    return clock


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    captured = capsys.readouterr()
    assert not captured.out
    return captured.err.splitlines()


def test_a_short_job_writes_nothing(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines("runs")
    for done in range(101):
        lines.report("simulating", done, 100)
        clock.now += 0.04
    assert lines_of(capsys) == []


def test_a_long_job_writes_a_line_per_tenth_with_the_time_left(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Lines("runs")
    for done in range(1001):
        lines.report("simulating", done / 10, 100, ", 3e+06 of 3e+07 rounds")
        clock.now += 0.2
    written = lines_of(capsys)
    assert len(written) == 10
    assert written[4] == "simulating: 50 of 100 runs, 3e+06 of 3e+07 rounds, about 2 min left"
    assert "left" not in written[-1]
    assert max(map(len, written)) <= 80


def test_a_very_long_job_writes_a_line_every_half_minute(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Lines("runs")
    for done in range(361):
        lines.report("simulating", done, 3600)
        clock.now += 10
    # One every 30 s in the hour; tenths fall on some of them.
    assert 118 <= len(lines_of(capsys)) <= 132


def test_waiting_for_the_compiler_is_no_progress(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with campaign_bar() as listener:
        for seconds in range(40):
            listener(Progress(0, 100, 0, 1000, seconds, doing="figure 3", idle=float(seconds)))
            clock.now += 1
        for done in range(51):
            listener(Progress(done, 100, 10 * done, 1000, 40.0 + done, doing="figure 3"))
            clock.now += 1
    written = lines_of(capsys)
    assert re.match("compiling", written[0])
    assert "left" not in written[0]
    assert written[-1] == "figure 3: 50 of 100 runs, 500 of 1,000 rounds, about 50 s left"


def test_rows_of_a_log_whose_length_is_not_known(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with replay_bar() as listener:
        for rows in (1_000, 2_000_000):
            listener(ReplayProgress("reading", rows, None))
            clock.now += 31
        listener(ReplayProgress("replaying", 1_000_000, 2_000_000))
    assert lines_of(capsys) == [
        "reading: 2,000,000 rows",
        "replaying: 1,000,000 of 2,000,000 rows, about 31 s left",
    ]
