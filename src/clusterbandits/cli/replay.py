"""``clusterbandits replay``: estimate the rewards of policies from a log."""

from typing import Annotated

import typer

from clusterbandits.cli.common import (
    Family,
    High,
    Json,
    Low,
    Seed,
    Start,
    interruptible,
    past,
    reward_family,
    show,
)
from clusterbandits.cli.table_options import LOG, Reading, log_options


@log_options
def replay(
    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG",
            help="A table (CSV, Excel, Parquet) with columns time, arm, reward, and if known propensity and "
            "group.",
        ),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(help="A policy, such as clus-ucb:a=5,refresh=50; can be repeated. Default: auto."),
    ] = None,
    widths: Annotated[
        str | None,
        typer.Option(
            help="Width of each group: red=0.03,blue=0.04; 0.03,0.04 in order of appearance; or one for all."
        ),
    ] = None,
    rounds: Annotated[
        float | None, typer.Option(help="Rounds per episode. Default: chosen to give about 20 episodes.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of intervals.")] = 0.95,
    family: Family = None,
    low: Low = None,
    high: High = None,
    seed: Seed = 0,
    start: Start = None,
    arms: Annotated[
        bool, typer.Option("--arms", help="Also show the rewards of every arm in the log.")
    ] = False,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Estimate the rewards of policies from a log of the choices of another policy."""
    from clusterbandits.cli.progress_bar import replay_bar
    from clusterbandits.serial import to_json
    from clusterbandits.studies.replay import replay as run

    law = reward_family(family, low, high) or "bernoulli"
    known = past(reading.start(start, LOG), "replay", law)
    with interruptible("an unfinished replay has no result."), replay_bar() as listener:
        result = run(
            reading.log(log),
            policy or ["auto"],
            widths=None if widths is None else _widths(widths),
            rounds=rounds,
            seed=seed,
            confidence=confidence,
            family=law,
            progress=listener,
            start=known,
        )
    if json:
        show(to_json(result.to_dict(), indent=2))
        return
    show(result)
    if arms:
        show(f"\n{result.arm_table().text()}")


def _widths(text: str) -> object:
    """Return one width, a list of them, or a mapping from names."""
    from clusterbandits.validate import Described, invalid

    named: dict[str, float] = {}
    values: list[float] = []
    for part in text.split(","):
        name, equals, number = part.rpartition("=")
        try:
            values.append(float(number))
        except ValueError:
            given = Described(f"'{part.strip()}' in '{text.strip()}'")
            raise invalid("widths", "replay", "numbers separated by commas", given) from None
        if equals:
            named[name.strip()] = values[-1]
    if named and len(named) < len(values):
        allowed = "numbers, or each with a different name, as in red=0.03,blue=0.04"
        raise invalid("widths", "replay", allowed, text)
    return named or (values[0] if len(values) == 1 else values)
