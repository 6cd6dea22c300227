"""Pages of results: of comparisons, of labels and of demos, with tables, tests in words and pictures.

=============  =========================================================
`comparison`   the report of `cofactor.evaluation.compare`
`labels`       measures of each label, the worst first
`demo`         the parts that the reports of all demos have
`pictures`     pictures of matplotlib inside a page
=============  =========================================================

The parts that pages are made of are in `cofactor.pages`.
"""
