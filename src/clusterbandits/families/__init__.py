"""What a reward is: one law a file, the same for people and for compiled code."""

from clusterbandits.families.family import Bernoulli, Exponential, Family, Gaussian, Poisson
from clusterbandits.families.registry import FAMILIES, as_family

__all__ = ["FAMILIES", "Bernoulli", "Exponential", "Family", "Gaussian", "Poisson", "as_family"]
