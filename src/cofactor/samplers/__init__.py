"""Draw from a posterior: sweeps, chains, samples.

A sampler knows nothing of ratings: it repeats the named steps of a `Posterior` and keeps states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.lazy import exports

if TYPE_CHECKING:
    from cofactor.samplers.chain import Chain, DivergedError, Key, Posterior, State, Step, is_kept, run
    from cofactor.samplers.diagnostics import Diagnostics, diagnose, split_r_hat, to_inference_data
    from cofactor.samplers.kept import Kept, Room, SampleFile, SamplesInMemory

__all__ = [
    "Chain",
    "Diagnostics",
    "DivergedError",
    "Kept",
    "Key",
    "Posterior",
    "Room",
    "SampleFile",
    "SamplesInMemory",
    "State",
    "Step",
    "diagnose",
    "is_kept",
    "run",
    "split_r_hat",
    "to_inference_data",
]

__getattr__, __dir__ = exports(__name__)
