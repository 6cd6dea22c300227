"""Models drawn from a posterior by a Markov chain."""
