"""The settings of policies; each has the same meaning in all policies, and is checked and documented here."""

from __future__ import annotations

import inspect
import math
import re
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from clusterbandits.limits import LARGEST_SEED, MOST_ROUNDS
from clusterbandits.serial import restore_number
from clusterbandits.validate import (
    Described,
    as_float,
    between,
    choice,
    invalid,
    is_list,
    truth,
    unknown,
    whole,
)
from clusterbandits.wording import is_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clusterbandits.families import Family

    Reader = Callable[[object, str], object]

_LARGEST_A = 1e6
#: The largest value of a setting that only a policy from outside the package has.
_LARGEST_OWN = 1e100

#: The default alarm settings of policies that use widths.
ALARM: dict[str, object] = {"alarm": "warn", "alarm_level": 0.05}


def _number(name: str, least: float, most: float) -> Reader:
    return lambda value, owner: between(name, owner, value, least, most)


def _positive(name: str, most: float) -> Reader:
    def read(value: object, owner: str) -> float:
        number = as_float(value)
        if not 0.0 < number <= most:
            raise invalid(name, owner, f"a number above 0 and at most {most:g}", value)
        return number

    return read


def _one_of(name: str, *allowed: str) -> Reader:
    return lambda value, owner: choice(name, owner, value, allowed)


def _count(name: str, least: int, most: int) -> Reader:
    return lambda value, owner: whole(name, owner, value, least=least, most=most)


def _horizon(value: object, owner: str) -> int | None:
    return None if value is None else whole("horizon", owner, value, least=1, most=MOST_ROUNDS)


def _distances(value: object, owner: str) -> list[list[float]] | None:
    """Return a symmetric table of distances with zeros on the diagonal."""
    if value is None:
        return None
    allowed = "a square table of distances from 0 to infinity, symmetric, 0 on the diagonal"
    if not is_list(value):
        raise invalid("distances", owner, f"{allowed}, passed from Python as a list of lists", value)
    rows = [list(row) if is_list(row) else [row] for row in value]
    table = [[as_float(restore_number(one)) for one in row] for row in rows]
    size = range(len(table))
    if not table or any(len(row) != len(table) for row in table):
        raise invalid("distances", owner, allowed, Described(f"rows of {[len(row) for row in table]}"))
    for i in size:
        for j in size:
            if not table[i][j] >= 0.0 or table[i][j] != table[j][i] or (i == j and table[i][j] != 0.0):
                raise invalid("distances", owner, allowed, Described(f"{table[i][j]} between {i} and {j}"))
    return table


def _prior(value: object, owner: str) -> list[float] | None:
    """Return the mean of the prior and the equivalent number of pulls."""
    if value is None:
        return None
    given = value.split("@") if isinstance(value, str) else list(value) if is_list(value) else [value]
    numbers = [as_float(_number_in(one)) for one in given]
    if len(numbers) != 2 or not (math.isfinite(numbers[0]) and 0.0 < numbers[1] <= _LARGEST_A):
        allowed = f"a mean and the pulls it is worth, up to {_LARGEST_A:g}, as in (0.02, 50) or '0.02@50'"
        raise invalid("prior", owner, allowed, value)
    return numbers


def _number_in(given: object) -> object:
    try:
        return float(given) if isinstance(given, str) else given
    except ValueError:
        return given


def check_prior(family: Family, prior: list[float], owner: str) -> None:
    """Refuse a prior mean that is not inside the family's domain."""
    if not family.lowest < prior[0] < family.highest:
        allowed = f"a mean between {family.low:g} and {family.high:g}, for {family.name} rewards"
        raise invalid("prior", owner, allowed, prior[0])


class Setting(NamedTuple):
    """The check and the description of a setting."""

    read: Reader
    doc: str


SETTINGS: dict[str, Setting] = {
    "a": Setting(
        _number("a", 0, _LARGEST_A),
        "Weight of log log n in the threshold, where log log n is 0 below n = e. 0 works best in practice; "
        "the paper's proof uses 5.",
    ),
    "alarm": Setting(
        _one_of("alarm", "warn", "widen", "ignore"),
        'Response when the data contradict a declared width: ``"warn"``, ``"widen"`` (from then on the width '
        'of that cluster is ignored) or ``"ignore"``.',
    ),
    "alarm_level": Setting(
        _positive("alarm_level", 1.0),
        "Upper bound on the probability of a false alarm, over all rounds and clusters together.",
    ),
    "alpha": Setting(
        _number("alpha", 0, _LARGEST_A), "α: widening of the bonus relative to that for a known horizon."
    ),
    "c": Setting(
        _positive("c", _LARGEST_A),
        "Amount of exploration; the proof needs more than 5, but much smaller values work in practice.",
    ),
    "clock": Setting(
        _one_of("clock", "cluster", "round"),
        'Clock of the threshold inside a cluster: ``"cluster"``, the pulls of that cluster, or ``"round"``, '
        "the number of the round.",
    ),
    "distances": Setting(
        _distances,
        "Symmetric table with one row and one column per arm: the largest possible difference between two "
        "means. By default, the widths inside clusters and infinity between clusters.",
    ),
    "epsilon": Setting(_number("epsilon", 0, 1), "ε: rate of forced exploration of the least pulled arm."),
    "gamma": Setting(_number("gamma", 0, _LARGEST_A), "γ: share of exploration beyond the lower bound."),
    "gap": Setting(
        _positive("gap", _LARGEST_A),
        "g: lower bound on the gap between the best arm and the second best; for bounded rewards, as a "
        "share of high − low.",
    ),
    "hedge": Setting(
        _number("hedge", 0, 1),
        "κ from 0 (no hedge) to 1: the index of an arm is at least its KL-UCB index at κ f(n). Regret is "
        "then at most of order T^(1−κ) for any widths.",
    ),
    "horizon": Setting(_horizon, "T: number of rounds; by default that of the simulation."),
    "leader": Setting(
        _one_of("leader", "clustered", "plain"),
        '``"clustered"``: clustered index for all arms. ``"plain"``, another reading of the paper: KL-UCB '
        "index for arms of the cluster with the largest empirical mean.",
    ),
    "prior": Setting(
        _prior,
        "Prior of each arm: its expected mean and the equivalent number of pulls, as in ``(0.02, 50)`` or "
        '``"0.02@50"``. By default, a flat prior.',
    ),
    "refresh": Setting(
        _count("refresh", 1, 10**9),
        "Number of rounds for which a choice is kept; the paper uses 50. If a width is too small, a value "
        "above 1 can make regret linear.",
    ),
    "seed": Setting(
        _count("seed", 0, LARGEST_SEED),
        "Random seed for online use; simulations draw from the random stream of each run.",
    ),
    "widths": Setting(
        _one_of("widths", "ignored", "respected"), 'Use of declared widths: ``"ignored"`` or ``"respected"``.'
    ),
}
_FAMILY = "Reward family, as a ``Family`` or its name; by default Bernoulli."
_LABEL = (
    "Display name in tables and pictures; by default the name and the settings that differ from defaults."
)
_SECTION = re.compile(r"^(Parameters|Examples|References|Notes|Raises)\n-+\n", re.MULTILINE)


def read_settings(
    name: str, defaults: Mapping[str, object], given: Mapping[str, object], owner: str
) -> dict[str, Any]:
    """Return the values of all settings; check given ones and refuse unknown ones."""
    for key in given:
        if key not in defaults:
            refuse_setting(name, defaults, key)
    return {key: _reader(key, default)(given.get(key, default), owner) for key, default in defaults.items()}


def refuse_setting(name: str, defaults: Mapping[str, object], key: object) -> NoReturn:
    """Raise the error for a setting that a policy does not have."""
    raise unknown("setting", key, defaults, f"of policy {name}", owner="policy")


def _reader(name: str, default: object) -> Reader:
    """Return the check of a setting; own settings of outside policies are checked like their default."""
    if name in SETTINGS:
        return SETTINGS[name].read
    if isinstance(default, bool):
        return lambda value, owner: truth(name, owner, value)
    if isinstance(default, int):
        return _count(name, -MOST_ROUNDS, MOST_ROUNDS)
    if isinstance(default, float):
        return _number(name, -_LARGEST_OWN, _LARGEST_OWN)

    def read(value: object, owner: str) -> str:
        if not is_text(value):
            raise invalid(name, owner, "text", value)
        return str(value)

    return read


def signature(defaults: Mapping[str, object]) -> inspect.Signature:
    """Return the signature of a policy with these settings, for ``help`` and editors."""
    kinds = inspect.Parameter
    only = {**defaults, "family": "bernoulli", "label": None}
    return inspect.Signature(
        [
            kinds("clusters", kinds.POSITIONAL_OR_KEYWORD),
            *(kinds(name, kinds.KEYWORD_ONLY, default=value) for name, value in only.items()),
        ]
    )


def documented(doc: str | None, defaults: Mapping[str, object], *, uses_widths: bool) -> str:
    """Return the docstring of a policy with a section on all its parameters.

    A policy documents only what is special about it; all other descriptions come from ``SETTINGS``.
    """
    own, text = _own_parameters(inspect.cleandoc(doc or ""))
    arms = "Arms and the clusters they belong to; widths are not used."
    known = {name: setting.doc for name, setting in SETTINGS.items()}
    known |= {"clusters": "Arms, clusters and widths." if uses_widths else arms}
    known |= {"family": _FAMILY, "label": _LABEL}
    entries = []
    for name in ("clusters", *defaults, "family", "label"):
        body = own.get(name) or textwrap.fill(known.get(name, ""), 100)
        entries.append(f"{name}\n{textwrap.indent(body, '    ')}")
    section = "Parameters\n----------\n" + "\n".join(entries) + "\n"
    following = _SECTION.search(text)
    if following is None:
        return f"{text}\n\n{section}"
    return f"{text[: following.start()]}{section}\n{text[following.start() :]}"


def _own_parameters(text: str) -> tuple[dict[str, str], str]:
    """Return the parameters that a docstring itself describes, and the rest of it."""
    found = [part for part in _SECTION.finditer(text) if part[1] == "Parameters"]
    if not found:
        return {}, text
    following = _SECTION.search(text, found[0].end())
    end = len(text) if following is None else following.start()
    listed = re.findall(r"^(\S.*)\n((?:[ ]{4}.*\n?|\n)+)", text[found[0].end() : end], re.MULTILINE)
    own = {name: textwrap.dedent(body).strip() for names, body in listed for name in names.split(", ")}
    return own, text[: found[0].start()] + text[end:]
