"""Table 2 of the paper on online matrix factorization (Otálora-Montenegro, Pérez-Rubiano and González)."""
