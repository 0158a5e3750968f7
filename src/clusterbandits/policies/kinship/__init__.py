r"""The hierarchical model of ``Kindred``: how similar the arms of each cluster are.

A cluster has three possible explanations, which are weighted by their likelihoods.

*Similar*. On the scale of ``families.link``, the means of the arms are distributed around a cluster mean m
with precision κ, a prior equivalent to ν(m, κ) pulls with reward m each. The grid of κ has powers of 2. For
each κ there is a grid of likely cluster means. Means without an upper limit may be far apart, so the grid of
κ then starts at the spread of the empirical means. An arm is an exception with a small probability ε, and its
mean is then independent of the cluster mean. The weight of a point is

.. math:: h(m) \prod_j \left[(1 - ε) \frac{Z(t_j + \nu, s_j + \nu m)}{Z(\nu, \nu m)} + ε E_j\right]

with h the prior of cluster means, Z the normalising integral of the family's conjugate densities, and E_j the
likelihood of the arm's rewards given h alone. Clusters share information about κ: with a probability of
``_SHARED``, the κ of a cluster is the one that all clusters have in common.

*Within the width*. The same, restricted to means at most a width apart. By Bayes' rule, the restriction
multiplies the likelihood by P(within | rewards) / P(within), both estimated from draws. An additional column
of the grid has the precision at which means are mostly within the width.

*Unrelated*. The means of the arms are independent, with prior h.
"""
