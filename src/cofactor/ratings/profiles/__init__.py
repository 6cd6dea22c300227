"""Models of what users have in common: mixtures of attitudes, expressed factors, Gaussian processes."""
