"""Thompson sampling: every arm as often as it may be best."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clusterbandits.policies.bayes.draws import THOMPSON, DrawState, fresh_state
from clusterbandits.policies.bayes.policy import RandomPolicy

if TYPE_CHECKING:
    from numpy.random import Generator


class Thompson(RandomPolicy):
    r"""Draw every arm's mean from what its rewards say; pull the arm with the largest draw.

    With s successes in t pulls the draw is from Beta(s + 1, t − s + 1). Other families have conjugate
    posteriors too, with a flat prior unless the family says otherwise; one without a posterior is refused.

    Parameters
    ----------
    clusters
        The arms; their widths are not used.
    seed
        Decides all chance online; simulations use their own.
    family
        The law of rewards.
    label
        What tables and pictures call it.

    Examples
    --------
    >>> from clusterbandits import Clusters
    >>> policy = Thompson(Clusters([2, 1], widths=0.1))
    >>> policy.ask(3)
    [0, 1, 2]

    References
    ----------
    Thompson, On the likelihood that one unknown probability exceeds another in view of the evidence of two
    samples, Biometrika 1933; Kaufmann, Korda and Munos, Thompson sampling: an asymptotically optimal
    finite-time analysis, ALT 2012.
    """

    name = "thompson"
    needs_posterior = True
    uses_widths = False
    defaults: ClassVar = {"seed": 0}
    guarantee = "meets the classical bound"
    reference = "Thompson 1933"

    def fresh_state(self, rng: Generator | None = None) -> DrawState:
        """Return the state before the first round."""
        members = [list(range(len(self.clusters.arms)))]
        return fresh_state(self.family.law, THOMPSON, 0.0, members, self._generator(rng))
