"""Whether chains agree, and how many independent draws theirs amount to: by ArviZ, the extra ``cofactor[bayes]``."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from cofactor.errors import InvalidInputError, MissingPackageError

#: With fewer draws, half a chain has no variance to compare.
_FEWEST = 4


@dataclass(frozen=True)
class Diagnostics:
    """How well chains agree about each quantity, and how many independent draws theirs amount to.

    Attributes
    ----------
    quantities : tuple of str
        What was measured; entries of an array are numbered from 1, as ``thresholds[2]``.
    mean, sd : ndarray
        Posterior mean and standard deviation of each.
    r_hat : ndarray
        Rank-normalized split R-hat: 1 where chains agree, more than 1.01 where they were too short; NaN for a single
        chain, or fewer than 4 draws.
    ess : ndarray
        Effective sample size in the bulk: the number of independent draws which would give the mean as accurately.
    n_chains, n_draws : int
        Chains, and draws of each.

    References
    ----------
    A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, "Rank-normalization, folding, and localization:
    an improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16 (2), 2021.
    """

    quantities: tuple[str, ...]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    r_hat: NDArray[np.float64]
    ess: NDArray[np.float64]
    n_chains: int
    n_draws: int

    def rows(self) -> Iterator[tuple[str, float, float, float, float]]:
        """Yield quantity, mean, sd, R-hat and effective sample size."""
        numbers = (self.mean.tolist(), self.sd.tolist(), self.r_hat.tolist(), self.ess.tolist())
        yield from zip(self.quantities, *numbers, strict=True)

    def __str__(self) -> str:
        width = max(map(len, (*self.quantities, "quantity")))
        lines = [f"{'quantity':{width}}  {'mean':>10} {'sd':>9} {'R-hat':>6} {'ESS':>6}"]
        for name, mean, sd, r_hat, ess in self.rows():
            known_r_hat = f"{r_hat:.2f}" if np.isfinite(r_hat) else "–"
            known_ess = f"{ess:.0f}" if np.isfinite(ess) else "–"
            lines.append(f"{name:{width}}  {mean:>10.5g} {sd:>9.3g} {known_r_hat:>6} {known_ess:>6}")
        lines.append(f"chains: {self.n_chains}, draws of each: {self.n_draws}")
        return "\n".join(lines)


def require_arviz() -> Any:
    """Return the module `arviz`, or say how to install it.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # once a day ArviZ announces its next version when it is imported
            try:
                return importlib.import_module("arviz")
            except FileNotFoundError:  # it notes the day in a file, which another process has just moved away
                return importlib.import_module("arviz")
    except ModuleNotFoundError as error:
        if error.name != "arviz":
            raise
        raise MissingPackageError("arviz", "diagnostics of chains need", "bayes") from error


def to_inference_data(
    quantities: Mapping[str, NDArray[Any]], log_likelihood: ArrayLike, warmup: ArrayLike | None = None
) -> Any:
    """Return draws of several chains as ArviZ takes them.

    Parameters
    ----------
    quantities : mapping from str to ndarray of shape (n_chains, n_draws, ...)
        Their last axis, if there is a third, is numbered from 1.
    log_likelihood : array-like of shape (n_chains, n_draws)
        Of the data, for every draw.
    warmup : array-like of shape (n_chains, n_sweeps), optional
        The log-likelihood in sweeps of which nothing was kept.

    Returns
    -------
    arviz.InferenceData
        Groups ``posterior``, ``sample_stats`` (``total_log_likelihood``), and ``warmup_sample_stats``.
    """
    arviz = require_arviz()
    inner = {name: [f"{name}_dim_{k}" for k in range(array.ndim - 2)] for name, array in quantities.items()}
    coords = {
        dim: np.arange(1, size + 1)
        for name, array in quantities.items()
        for dim, size in zip(inner[name], array.shape[2:], strict=True)
    }
    groups: dict[str, Any] = {"sample_stats": {"total_log_likelihood": np.asarray(log_likelihood, dtype=np.float64)}}
    if warmup is not None and np.size(warmup):
        groups["warmup_sample_stats"] = {"total_log_likelihood": np.asarray(warmup, dtype=np.float64)}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="More chains")  # a few draws of many chains are no mistake
        return arviz.from_dict(posterior=dict(quantities), dims=inner, coords=coords, save_warmup=True, **groups)


def diagnose(quantities: Mapping[str, NDArray[Any]]) -> Diagnostics:
    """Return R-hat and effective sample size of every entry of every quantity that changes at all.

    Parameters
    ----------
    quantities : mapping from str to ndarray of shape (n_chains, n_draws, ...)

    Returns
    -------
    Diagnostics
    """
    arviz = require_arviz()
    draws: dict[str, NDArray[np.float64]] = {}
    for name, array in quantities.items():
        flat = np.asarray(array, dtype=np.float64).reshape(*array.shape[:2], -1)
        for k in range(flat.shape[2]):
            if np.ptp(flat[:, :, k]):  # a quantity that is fixed, not drawn, has no R-hat
                draws[f"{name}[{k + 1}]" if array.ndim > 2 else name] = flat[:, :, k]
    n_chains, n_draws = next(iter(quantities.values())).shape[:2]
    enough = n_draws >= _FEWEST
    return Diagnostics(
        tuple(draws),
        np.array([x.mean() for x in draws.values()]),
        np.array([x.std(ddof=1) if x.size > 1 else np.nan for x in draws.values()]),
        np.array([arviz.rhat(x) if enough and n_chains > 1 else np.nan for x in draws.values()]),
        np.array([arviz.ess(x, method="bulk") if enough else np.nan for x in draws.values()]),
        n_chains,
        n_draws,
    )


def split_r_hat(draws: ArrayLike) -> float:
    r"""Return the rank-normalized split R-hat of one quantity, without ArviZ.

    With the chains cut into halves, :math:`\sqrt{\frac{n-1}{n} + \frac{B}{n W}}` of the normal scores of the ranks,
    where B and W are the variances between and within; the larger one of the draws, and of their distances from the
    median.

    Parameters
    ----------
    draws : array-like of shape (n_chains, n_draws)
        At least 4 draws of each chain.

    Returns
    -------
    float
        1 where chains agree; NaN if nothing varies within them.

    References
    ----------
    Vehtari et al. (2021), as in `Diagnostics`.

    Examples
    --------
    >>> round(split_r_hat([[1.0, 2, 1, 3, 2, 1], [2.0, 1, 3, 2, 1, 2]]), 2)
    0.9
    >>> round(split_r_hat([[1.0, 2, 1, 3, 2, 1], [9.0, 8, 9, 7, 8, 8]]), 2)
    2.27
    """
    x = np.asarray(draws, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] < _FEWEST:
        raise InvalidInputError(
            f"draws must have shape (n_chains, n_draws) with at least {_FEWEST} draws, found {x.shape}"
        )
    half = x.shape[1] // 2
    x = np.concatenate([x[:, :half], x[:, -half:]])
    return max(_r_hat(x), _r_hat(np.abs(x - np.median(x))))


def _r_hat(x: NDArray[np.float64]) -> float:
    scores = ndtri((rankdata(x).reshape(x.shape) - 0.375) / (x.size + 0.25))
    n = x.shape[1]
    within = scores.var(axis=1, ddof=1).mean()
    if not within > 0:
        return float("nan")
    return float(np.sqrt((n - 1) / n + scores.mean(axis=1).var(ddof=1) / within))
