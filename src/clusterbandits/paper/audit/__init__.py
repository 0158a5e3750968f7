"""All checkable claims of the paper, in their order, each with its test."""

from clusterbandits.paper.audit.captions import CAPTIONS
from clusterbandits.paper.audit.comparisons import COMPARISONS
from clusterbandits.paper.audit.concentration import CONCENTRATION
from clusterbandits.paper.audit.lower_bound import LOWER_BOUND
from clusterbandits.paper.audit.rates import RATES
from clusterbandits.paper.audit.widths import WIDTHS

CLAIMS = (*LOWER_BOUND, *RATES, *CONCENTRATION, *CAPTIONS, *COMPARISONS, *WIDTHS)
