r"""Decisions that users ask for: a precision, a recall, costs, cuts of their own, and how many labels an instance has.

A precision and a recall are those of held-out instances. With their calibrated logits z, let N(t) be how many labels
have z of at least t, H(t) how many of these are on, and P how many are on in all, of one label or of all together. The
cut of a precision π is the lowest, that of a recall ρ the highest, with

.. math:: W\bigl(H(t), N(t)\bigr) \ge \pi, \qquad W\bigl(H(t), P\bigr) \ge \rho

in the middle of those that part the same instances. W is the lower end of Wilson's interval, above the true share in
one of twenty samples:

.. math:: W(h, n) = \frac{h + z^2 / 2 - z \sqrt{h (n - h) / n + z^2 / 4}}{n + z^2}, \quad z = 1.645

So twenty-five instances that are all right show a precision of .9, and twenty-four do not.

References
----------
E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from cofactor.checks import check_choice, check_number
from cofactor.chunked import batches
from cofactor.errors import InvalidInputError
from cofactor.labels.data import label_positions
from cofactor.text import plural, shorten

#: What a decision can be asked for: one of these,
KINDS = ("precision", "recall", "costs", "cuts")
#: and these beside it, or alone.
BESIDE = ("each_label", "at_least", "at_most")
#: Precisions and recalls for which a cut is kept: steps of .01.
SHARES = np.arange(50, 100) / 100
#: A cut that no probability is above, but that of a label which all training instances have.
NEVER = 1 - 1e-6

_Z = 1.6449  # one in twenty is above it
_END, _PER_UNIT = 10, 20  # cuts are logits from -10 to 10, in steps of .05
_EDGES = np.arange(-_END * _PER_UNIT, _END * _PER_UNIT + 1) / _PER_UNIT
_PER_BLOCK = 1 << 22


def check_targets(wanted: Mapping[str, Any], argument: str | None = None) -> None:
    """Refuse what no decision can be asked for.

    Parameters
    ----------
    wanted : mapping from str to object
        The arguments of `LabelModel.set_decision`.
    argument : str, optional
        Where they stand, if they are no arguments themselves.

    Examples
    --------
    >>> check_targets({"precision": 0.9, "at_most": 5})
    >>> check_targets({"precision": 0.9, "recall": 0.8})
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: precision and recall: a decision has one of precision, recall, costs, cuts
    """
    for name in wanted:
        check_choice(argument or "decision", name, (*KINDS, *BESIDE))
    kinds = [name for name in KINDS if name in wanted]
    if len(kinds) > 1:
        raise InvalidInputError(f"{' and '.join(kinds)}: a decision has one of {', '.join(KINDS)}")
    for name in ("precision", "recall"):
        if name in wanted:
            check_number(name, wanted[name], low=SHARES[0], high=SHARES[-1])
    check_number("at_least", wanted.get("at_least", 0), low=0, whole=True)
    if wanted.get("at_most") is not None:
        check_number("at_most", wanted["at_most"], low=wanted.get("at_least", 0), whole=True)
    if wanted.get("each_label") and not {"precision", "recall"} & set(kinds):
        advice = "give one of these, or leave it out"
        raise InvalidInputError("is about a precision or a recall", argument="each_label", found=True, advice=advice)


def learn_target_cuts(logits: NDArray[Any], on: sparse.csr_array, w: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the cuts of probabilities for each precision, and each recall, of each label, and of all together.

    Parameters
    ----------
    logits : ndarray of shape (n, L)
        Calibrated, of held-out instances; those of ±1e9 do not count.
    on : csr_array of shape (n, L)
        1 where a label is on, or the chance that it is.
    w : ndarray of shape (n,)
        Weights of the instances, of mean 1.

    Returns
    -------
    ndarray of shape (2, len(SHARES), L + 1)
        `NEVER` for a precision that is not shown; of a label whose instances show no recall the cut of all together.
        A half for a label of which there are no logits.

    Examples
    --------
    >>> logits, on = np.linspace(-3, 3, 61)[:, None], sparse.csr_array(np.arange(61)[:, None] >= 31)
    >>> [f"{cut:.2f}" for cut in learn_target_cuts(logits, on, np.ones(61))[:, 40, -1]]  # for .9
    ['0.52', '0.52']
    """
    n, n_labels = logits.shape
    cuts = np.empty((2, len(SHARES), n_labels + 1), dtype=np.float32)
    pooled = np.zeros((2, 1, len(_EDGES)))
    columns = sparse.csc_array(on)
    for block in batches(n_labels, max(1, _PER_BLOCK // max(n, len(_EDGES)))):
        part = columns[:, block]
        label = np.repeat(np.arange(part.shape[1]), np.diff(part.indptr))
        counts = np.zeros((2, part.shape[1], len(_EDGES)))
        here = logits[:, block]
        every = np.broadcast_to(np.arange(here.shape[1]), here.shape).ravel()
        _count(here.ravel(), every, np.repeat(w, here.shape[1]), counts[0])
        _count(here[part.indices, label], label, w[part.indices] * part.data, counts[1])
        pooled[:, 0] += counts.sum(axis=1)
        cuts[:, :, block] = _cuts(*counts)
    cuts[:, :, -1] = _cuts(*pooled)[:, :, 0]
    cuts[1] = np.where(np.isnan(cuts[1]), np.nan_to_num(cuts[1, :, -1:]), cuts[1])
    return cuts


def _count(z: NDArray[Any], label: NDArray[Any], weight: NDArray[Any], counts: NDArray[np.float64]) -> None:
    """Add weights to the counts of labels, by where logits lie among the edges."""
    known = np.abs(z) < 1e8
    place = np.clip((z[known] + _END) * _PER_UNIT, 0, len(_EDGES) - 1).astype(np.int64)
    places = label[known] * len(_EDGES) + place
    counts += np.bincount(places, weight[known], counts.size).reshape(counts.shape)


def _cuts(all_labels: NDArray[np.float64], that_are_on: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cuts of `learn_target_cuts`, NaN for a recall that is not shown, from counts by place."""
    above, hits = (np.cumsum(counts[:, ::-1], axis=1)[:, ::-1] for counts in (all_labels, that_are_on))
    precision, recall = _lower(hits, above), _lower(hits, hits[:, :1])
    found = np.empty((2, len(SHARES), len(hits)))
    middle = _middles(all_labels)
    cuts = np.column_stack([np.full(len(hits), np.nan), middle, np.full(len(hits), NEVER)])
    best = np.maximum.accumulate(precision, axis=1)  # by this cut or a lower one
    rows = np.arange(len(hits))
    for k, share in enumerate(SHARES):
        found[0, k] = cuts[rows, 1 + (best < share).sum(axis=1)]
        found[1, k] = cuts[rows, (recall >= share).sum(axis=1)]
    found[:, :, above[:, 0] == 0] = 0.5
    return found


def _middles(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each edge the probability in the middle of the edges that have the same logits above them.

    Examples
    --------
    >>> counts = np.zeros((1, len(_EDGES)))
    >>> counts[0, [100, 300]] = 1  # logits -5 and 5
    >>> _middles(counts)[0, [0, 100, 101, 300, 301]].round(3).tolist()
    [0.001, 0.001, 0.506, 0.506, 0.999]
    """
    places = np.arange(counts.shape[1])
    filled = counts > 0
    after = np.where(filled, places, len(places) - 1)  # the last edge of each run, which its logits reach
    last = np.minimum.accumulate(after[:, ::-1], axis=1)[:, ::-1]
    before = np.where(filled[:, :-1], places[1:], 0)
    first = np.maximum.accumulate(np.column_stack([np.zeros(len(counts), np.int64), before]), axis=1)
    return np.where(last > 0, expit((_EDGES[first] + _EDGES[last]) / 2), 0.0)  # the first is below all logits


def _lower(hits: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lower end of Wilson's interval for a share, 0 where there is nothing."""
    n = np.maximum(n, 1e-12)
    hits = np.minimum(hits, n)
    return np.asarray((hits + _Z**2 / 2 - _Z * np.sqrt(hits * (1 - hits / n) + _Z**2 / 4)) / (n + _Z**2))


def cut_of_share(cuts: NDArray[np.float32], kind: str, share: float, each_label: bool) -> Any:
    """Return the cut of probabilities for a precision or a recall, or one for each label.

    Parameters
    ----------
    cuts : ndarray
        What `learn_target_cuts` returned.
    kind : {"precision", "recall"}
    share : float
        One of `SHARES`, or between them: then the cut of the next higher one.
    each_label : bool
        Whether each label has its own.
    """
    k = int(np.searchsorted(SHARES, share - 1e-9))
    found = cuts[("precision", "recall").index(kind), k].astype(np.float64)
    return _as_cut(found[:-1] if each_label else found[-1])


def highest_precision(cuts: NDArray[np.float32]) -> float:
    """Return the highest precision that held-out instances show for all labels together, 0 if that is below .5."""
    shown = cuts[0, :, -1] < NEVER - 1e-7
    return float(SHARES[shown][-1]) if shown.any() else 0.0


def cut_of_costs(costs: Any, names: NDArray[Any]) -> Any:
    """Return the cut of probabilities above which a label costs less if it is on, or one for each label.

    Parameters
    ----------
    costs : pair
        Of a label that is wrongly on, and one that is wrongly off: numbers above 0, or one for each label.
    names : ndarray of shape (L,)
        Of the labels.

    Examples
    --------
    >>> cut_of_costs((1, 4), np.arange(2)), cut_of_costs((1, [1, 3]), np.arange(2))
    (0.2, array([0.5 , 0.25]))
    """
    if not isinstance(costs, list | tuple | np.ndarray) or len(costs) != 2:
        advice = "give the cost of a label that is wrongly on, and of one that is wrongly off: costs=(1, 5)"
        raise InvalidInputError("expected two numbers", argument="costs", found=costs, advice=advice)
    on, off = (_of_labels("costs", cost, names) for cost in costs)
    if not (np.all(on > 0) and np.all(off > 0)):
        raise InvalidInputError("expected numbers above 0", argument="costs", found=costs)
    return _as_cut(on / (on + off))


def cuts_given(cuts: Any, names: NDArray[Any], otherwise: Any) -> Any:
    """Return cuts of probabilities that a user gives.

    Parameters
    ----------
    cuts : float, sequence of L numbers, mapping or Series
        From 0 to 1. A mapping or Series has them by name of the label.
    names : ndarray of shape (L,)
        Of the labels.
    otherwise : float or ndarray of shape (L,), optional
        Cuts of labels that are not named; None if these must be named, too.

    Examples
    --------
    >>> cuts_given({"sea": 0.3}, np.array(["sea", "sun"], dtype=object), 0.5)
    array([0.3, 0.5])
    """
    if hasattr(cuts, "keys"):
        by_name = dict(cuts.items())
        found = np.full(len(names), np.nan) if otherwise is None else np.broadcast_to(otherwise, len(names)).copy()
        found[label_positions(by_name, names)] = list(by_name.values())
        left = [str(name) for name in names[np.isnan(found)]]
        if left:
            what = f"{plural(len(left), 'label has', 'labels have')} no cut: {shorten(left)}"
            raise InvalidInputError(what, argument="cuts", advice="give each label one")
    else:
        found = _of_labels("cuts", cuts, names)
    if not ((found >= 0) & (found <= 1)).all():
        raise InvalidInputError("expected probabilities, from 0 to 1", argument="cuts", found=cuts)
    return _as_cut(found)


def _as_cut(found: NDArray[np.float64]) -> Any:
    """Return the cut of a rule, `NEVER` at most: a number, or an array of one for each label."""
    cut = np.minimum(found, NEVER)
    return cut if np.ndim(cut) else float(cut)


def _of_labels(argument: str, given: Any, names: NDArray[Any]) -> NDArray[np.float64]:
    """Return a number, or one for each label."""
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.full((0, 0), np.nan)
    if found.shape not in ((), (len(names),)):
        expected = f"expected a number, or {len(names)} of them, one for each label"
        raise InvalidInputError(expected, argument=argument, found=given)
    return found


def bounded(on: NDArray[np.bool_], chances: NDArray[Any], at_least: int, at_most: int | None) -> NDArray[np.bool_]:
    """Return labels of which each instance has at least and at most so many: the likeliest join, and remain.

    Parameters
    ----------
    on : ndarray of shape (n, L), bool
    chances : ndarray of shape (n, L)
        Probabilities of the labels.
    at_least, at_most : int
        Labels of probability 0 do not join.

    Examples
    --------
    >>> on, p = np.array([[True, True, True], [False, False, False]]), np.array([[0.9, 0.8, 0.7], [0.1, 0.3, 0.2]])
    >>> bounded(on, p, 1, 2)
    array([[ True,  True, False],
           [False,  True, False]])
    """
    counts = on.sum(axis=1)
    most = on.shape[1] if at_most is None else at_most
    rows = np.flatnonzero((counts < at_least) | (counts > most))
    if not len(rows):
        return on
    on = on.copy()
    ranked = np.lexsort((-chances[rows], ~on[rows]), axis=1)
    chosen = np.arange(on.shape[1]) < np.clip(counts[rows], at_least, most)[:, None]
    found = np.zeros(chosen.shape, dtype=np.bool_)
    np.put_along_axis(found, ranked, chosen, axis=1)
    on[rows] = found & ((chances[rows] > 0) | on[rows])
    return on


def in_words(kind: str, wanted: Mapping[str, Any]) -> str:
    """Return what a decision was asked for, in words; nothing if nothing.

    Parameters
    ----------
    kind : str
        Name of its rule.
    wanted : mapping from str to object
        What else was asked.

    Examples
    --------
    >>> in_words("precision", {"precision": 0.9, "each_label": True, "at_most": 5})
    'by a cut of probabilities for each label, for a precision of 0.9; at most 5 labels'
    >>> in_words("costs", {})
    'by cuts of probabilities, for the costs of errors'
    """
    parts: list[str] = []
    if kind in ("precision", "recall"):
        each = " for each label" if wanted.get("each_label") else ""
        parts.append(f"by a cut of probabilities{each}, for a {kind} of {wanted[kind]:g}")
    elif kind in KINDS:
        parts.append(f"by cuts of probabilities, {'for the costs of errors' if kind == 'costs' else 'as given'}")
    parts += [f"at least {plural(wanted['at_least'], 'label')}"] if wanted.get("at_least") else []
    parts += [] if wanted.get("at_most") is None else [f"at most {plural(wanted['at_most'], 'label')}"]
    return "; ".join(parts)
