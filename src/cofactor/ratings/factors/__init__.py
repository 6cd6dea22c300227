"""Models with one pair of factor matrices: scores are products of users' and items' factors."""
