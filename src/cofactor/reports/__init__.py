"""Pages of results: of comparisons and of demos, with tables, tests in words and pictures.

=============  =========================================================
`comparison`   the report of `cofactor.evaluation.compare`
`demo`         the parts that the reports of all demos have
`pictures`     pictures of matplotlib inside a page
=============  =========================================================

The parts that pages are made of are in `cofactor.pages`.
"""
