r"""How alike the arms of a cluster are: what ``Kindred`` learns from their rewards, from time to time.

A cluster is explained in one of three ways, which are weighed by how likely they make its rewards.

*Alike*. On the scale of ``families.link`` the means of the arms lie around a cluster mean m with a precision
of κ, which is knowledge worth ν(m, κ) pulls of reward m each. κ has a grid of powers of 2. For each κ there
is a grid of means around those that the rewards suggest. Where means have no upper end they may be far
apart, so the grid of κ begins at the spread of the means that were observed. An arm is an exception with a
small probability ε, and then stands for itself. The weight of a point is

.. math:: h(m) \prod_j \left[(1 - ε) \frac{Z(t_j + \nu, s_j + \nu m)}{Z(\nu, \nu m)} + ε E_j\right]

with h the prior of cluster means, Z the integral of the family's conjugate densities, and E_j the likelihood
of the arm's rewards given h alone. Clusters tell each other about κ: with a probability of ``SHARED`` the κ
of a cluster is one that all clusters have in common.

*Within the width*. The same, restricted to means at most a width apart. By Bayes' rule that multiplies the
likelihood by P(within | rewards) / P(within), both counted in draws. One more column of the grid has the
precision at which means mostly keep within the width.

*Unrelated*. Every arm stands for itself, with the prior alone.
"""
