"""Draw from a posterior: sweeps, chains, samples.

A sampler knows nothing of ratings: it repeats the named steps of a `Posterior` and keeps states.
"""

from cofactor.samplers.chain import Chain, DivergedError, Key, Posterior, State, Step, run

__all__ = ["Chain", "DivergedError", "Key", "Posterior", "State", "Step", "run"]
