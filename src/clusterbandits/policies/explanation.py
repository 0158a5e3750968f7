"""Explanations: why a policy chooses an arm, as data and as a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from clusterbandits.plotting import drawn
from clusterbandits.tables import Table, cell

if TYPE_CHECKING:
    from clusterbandits.partition import Label
    from clusterbandits.plotting import Axes


@dataclass(frozen=True)
class ArmView:
    """The statistics and the index of one arm."""

    arm: Label
    cluster: Label
    pulls: int
    mean: float | None = None
    #: The lower and upper confidence bounds from the arm's own rewards.
    low: float | None = None
    high: float | None = None
    #: The index that arms are compared by: infinite for an arm without pulls, None while other arms have
    #: none.
    index: float | None = None
    #: The other arms of the cluster with evidence against a larger index, each with its share of the
    #: threshold.
    held_down_by: dict[Label, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Explanation:
    """The indices of all arms in one round; printed as a table."""

    round: int
    #: The exploration threshold f(n); None if the policy has none.
    threshold: float | None
    arms: tuple[ArmView, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    def table(self) -> Table:
        """Return a table with one row per arm."""
        columns = ("arm", "cluster", "pulls", "mean", "low", "high", "index", "limited by")
        rows = tuple(
            (
                str(one.arm),
                str(one.cluster),
                one.pulls,
                one.mean,
                one.low,
                one.high,
                one.index,
                _names(one.held_down_by),
            )
            for one in self.arms
        )
        if self.threshold is None:
            kept = len(columns) - (1 if any(one.index is not None for one in self.arms) else 2)
            return Table(columns[:kept], tuple(row[:kept] for row in rows), title=f"Round {self.round}")
        return Table(columns, rows, title=f"Round {self.round}: f(n) = {cell(self.threshold)}")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw estimates and indices, and the other arms that limit each index; return the Matplotlib axes.

        Parameters
        ----------
        ax
            The axes to draw on; by default those of a new figure.

        Examples
        --------
        >>> views = ArmView("a", "red", 9, 0.4, 0.2, 0.6, 0.5, {"b": 0.3}), ArmView("b", "red", 0)
        >>> ax = Explanation(10, 2.3, views).plot()
        >>> ax.get_xlabel(), [text.get_text() for text in ax.texts]
        ('mean reward, round 10', ['red', 'a', 'b 30 %', 'b', 'never pulled'])
        """
        return drawn("explanation", self, ax)

    def __str__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()


def _names(shares: dict[Label, float]) -> str:
    return ", ".join(f"{label} {100 * share:.0f} %" for label, share in shares.items())
