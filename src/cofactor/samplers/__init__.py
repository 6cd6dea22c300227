"""Draw from a posterior: sweeps, chains, samples.

A sampler knows nothing of ratings: it repeats the named steps of a `Posterior` and keeps states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.lazy import exports

if TYPE_CHECKING:
    from cofactor.samplers.chain import Chain as Chain
    from cofactor.samplers.chain import DivergedError as DivergedError
    from cofactor.samplers.chain import Key as Key
    from cofactor.samplers.chain import Posterior as Posterior
    from cofactor.samplers.chain import State as State
    from cofactor.samplers.chain import Step as Step
    from cofactor.samplers.chain import is_kept as is_kept
    from cofactor.samplers.chain import run as run
    from cofactor.samplers.diagnostics import Diagnostics as Diagnostics
    from cofactor.samplers.diagnostics import diagnose as diagnose
    from cofactor.samplers.diagnostics import split_r_hat as split_r_hat
    from cofactor.samplers.diagnostics import to_inference_data as to_inference_data
    from cofactor.samplers.kept import Kept as Kept
    from cofactor.samplers.kept import SampleFile as SampleFile
    from cofactor.samplers.kept import SamplesInMemory as SamplesInMemory
    from cofactor.samplers.kept import SampleStore as SampleStore


__getattr__, __dir__, __all__ = exports(__name__)
