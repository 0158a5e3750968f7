"""Every checkable claim of the paper, in its order, and what computation says about it."""

from clusterbandits.paper.audit.captions import CAPTIONS
from clusterbandits.paper.audit.comparisons import COMPARISONS
from clusterbandits.paper.audit.concentration import CONCENTRATION
from clusterbandits.paper.audit.lower_bound import LOWER_BOUND
from clusterbandits.paper.audit.rates import RATES
from clusterbandits.paper.audit.widths import WIDTHS

CLAIMS = (*LOWER_BOUND, *RATES, *CONCENTRATION, *CAPTIONS, *COMPARISONS, *WIDTHS)
