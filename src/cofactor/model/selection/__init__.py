"""Choice of parameters on held-out training data, for ratings and for labels.

There is one loop, in `trials`: every candidate is fitted to the same training parts, and judged on what was held out
of them. What differs is which candidates there are, and how they are judged:

============================  ==============================================================================
`path.select_alpha`           a path of penalty weights, each fit starting at its neighbour's solution; the
                              choice is the strongest penalty within one standard error of the best
                              (``alpha="auto"`` of rating models)
`grid.select_parameters`      the cells of a grid, by a metric; of labels with every rule for the cut
`trials.out_of_fold_scores`   a single candidate: scores of all instances by models which did not see them
`search.Search`               an estimator which chooses by `select_parameters`, then fits to everything
============================  ==============================================================================

Nothing here knows ratings or labels: models bring what is theirs as methods, see `path.PenaltyModel` and
`judges.CutModel`. The modules are imported by their own names, so that a rating model loads no more than its path.
"""
