"""Texts of parameters that many models share, each written once.

A docstring names a shared parameter in braces, alone on its line, in place of its text; deeper lines below it are what
this model has to add::

    alpha : float, default=1.0
        Weight of the penalty.
    {threshold}
    {random_state}
        Draws differ much in accuracy, so report means over several.
    {verbose}

`fill_docs` puts the texts in, so that ``help(Model)`` and numpydoc show them in full. `Estimator`
calls it for every subclass; any other class takes it as a decorator. A text with ``{default}`` gets the default
from the signature of the constructor.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Mapping
from types import FunctionType
from typing import Any, TypeVar

from cofactor.errors import InvalidInputError

_Class = TypeVar("_Class", bound=type[Any])

_FEATURES = "array-like, sparse matrix or array, or frame, of shape (n, D)"
_RULES = '"auto", "global", "per-label", "top-k", "cardinality"'
_OF_RULES = """\
"auto" calibrates probabilities on training instances which are held out, and decides as `decide_for` says.
            Otherwise the cut of the scores, or the rule by which it is learned; see
            `cofactor.labels.learn_threshold`."""
_TABLES = """\
A frame is one of pandas or polars, a lazy one, which is
            collected, a table, record batch, reader or data set of pyarrow, anything else with ``__arrow_c_stream__``,
            such as a relation of DuckDB, or a cursor of a database on which a query was executed. Columns are known by
            their names, such as user, item and rating; where these say nothing, by their order, with a warning."""
_LABELS = "array-like, sparse matrix or array, or frame, of shape (n, L)"

#: Shared texts by the name which stands for them in braces; the first line is the head of the entry.
PARAMETERS: Mapping[str, str] = {
    # ------------------------------------------------------------ of both halves
    "again": """\
        again : bool, default=False
            Whether to take in what the fit, or an earlier update since, took in already, as when a job is run twice:
            the same rows, whatever their order. By default a warning says so, and the model stays as it is.""",
    "random_state": """\
        random_state : int, RandomState or Generator, optional
            Seed. The same one gives the same result; without one, fits may differ.""",
    "callback": """\
        callback : callable, optional
            Called with a `Progress` after every step of the fit. If it returns True, the fit ends there, and the model
            is what was learned so far; parts that are still to be fitted do one step each. An error which it raises
            ends the fit, and leaves the model as it was.""",
    "verbose": """\
        verbose : int, default=0
            1 shows progress: a bar on a terminal or in a notebook, elsewhere lines of the logger "cofactor" (INFO). A
            last line says after how many steps and seconds the fit ended.""",
    "n_jobs": """\
        n_jobs : int, optional
            How many tasks run side by side, as joblib understands it: -1 for as many as there are cores. The result
            does not depend on it.""",
    "max_iter": """\
        max_iter : int, default={default}
            Largest number of iterations.""",
    "tol": """\
        tol : float, default={default}
            Converged when the objective fell by less than this share of itself per iteration.""",
    "dtype": """\
        dtype : {"float32", "float64"}, default={default}
            Precision of what is learned.""",
    # ------------------------------------------------------------ of ratings
    "side_features": """\
        user_features, item_features : mapping, frame, or tuple, optional
            What is known of users, and of items: a mapping from ids to sequences of numbers and texts; a frame, of all
            kinds that X may be, whose first column holds the ids (or whose index does, if it is a pandas index with a
            name or not of whole numbers); ids with an array of a row for each; or ids with a mapping from names to
            columns, as `cofactor.datasets.read_side_features` returns it. Numbers must be finite. Columns of texts, and
            categorical ones of frames, become a feature of 0 and 1 for each category of training, which the model
            remembers; a missing category (None, NaN, an empty text), or one that was not in training (then with a
            warning), says nothing. Columns are standardized over the users, or items, in training, those of one column
            of categories by a common scale; constant ones are dropped, with a warning. Users and items without a row
            get the means; rows of others are ignored. A data set in the place of X and y brings its own
            ``features``.""",
    "known": """\
        known : {"error", "merge", "replace"}, default="error"
            What to do with users of X who were in training, or whom this model knows from an earlier fold-in: refuse
            them, since their ratings there would be forgotten; merge, the ratings there and those of X count, of a pair
            that both have the one of X (a warning says so where nobody is known); or replace, those of X alone count.
            `recommend` leaves out what counts. Rows of a sparse matrix have no ids, so they are new users.""",
    "levels": """\
        levels : array-like of shape (R,), optional
            The values a rating can take, increasing; by default the distinct ones in y.""",
    "duplicates": """\
        duplicates : {"error", "last", "mean"}, default="error"
            What to do with several ratings of one user for one item.""",
    "unknown": """\
        unknown : {"fallback", "error"}, default="fallback"
            What `predict` does with ids that were not in training.""",
    "warm_start": """\
        warm_start : bool, default=False
            Whether `fit` goes on with the chains of the last fit, on the same ratings.""",
    "validated_alpha": """\
        alpha : float or "auto", default="auto"
            Weight of the factors' penalty, above 0 and at most 1e12. "auto" chooses it by validation (see
            `select_alpha`).""",
    "decision": """\
        decision : {"median", "mode", "mean"}, default="median"
            How `predict` makes a level of the levels' probabilities: the median has the least expected absolute error,
            the mode is right most often, and "mean" takes the level nearest to the expected rating.""",
    "n_sweeps": """\
        n_sweeps : int, default={default}
            Sweeps of each chain. With ``warm_start=True``, sweeps to add.""",
    "burn_in": """\
        burn_in : int, default={default}
            First sweeps of each chain, of which nothing is kept.""",
    "thin": """\
        thin : int, default={default}
            Distance between two sweeps that are kept.""",
    "n_chains": """\
        n_chains : int, default=1
            Independent chains; their samples are pooled. With two or more one can see whether they agree
            (`diagnostics`, `plots.plot_trace`).""",
    "max_seconds": """\
        max_seconds : float, optional
            Stop after this time; what has been kept by then is used, and it is an error if burn-in has not ended.""",
    "pairs": """\
        X : array of shape (n, 2), frame of two columns, or list of pairs
            User id and item id of each pair.""",
    "time": """\
        time : array-like of shape (n,), optional
            When each rating was given: numbers of seconds since 1970, or dates and times, which are UTC if they have no
            zone. By default those of X, if it has a third column, or in a frame one called timestamp, time or date.
            Models without time keep them, and learn nothing from them.""",
    "ratings": f"""\
        X : array of shape (n, 2), frame, list of pairs, scipy sparse matrix, Ratings, or ShardedRatings
            User id and item id of each rating. A frame may hold the ratings too. {_TABLES} In a
            sparse matrix of users × items the stored entries are the ratings, and ids are row and column numbers.
        y : array-like of shape (n,), optional
            The ratings, where X does not hold them. The categories of an ordered categorical are the scale, in their
            order: numbers as they are, words as 1, 2, ..., and `rating_scale_` knows what they stand for.""",
    "rating_weight": """\
        sample_weight : array-like of shape (n,), or sparse matrix of the shape of X, optional
            How often each rating counts, a number of at least 0: of weight 2 as if it were there twice, of weight 0 as
            if it were not there, but that its user and item, and its level, are known. By default all weigh 1. The
            weight of a penalty stands beside them as it is, and where it is chosen by validation, held-out ratings
            count once. Models whose objective is no sum over ratings refuse weights, and an error says which take
            them. Of a sparse matrix X the numbers are in the order of ``X.tocoo()``, which ``astype`` of X may change;
            those of a sparse matrix of weights go to the ratings at their places.""",
    "interactions": f"""\
        X : array of shape (n, 2), frame, list of pairs, scipy sparse matrix, Ratings, or data set
            User id and item id of each interaction; a pair may come several times, its counts add up. A frame may have
            a column of counts (count, plays, clicks, views, purchases, ...) and one of times. {_TABLES}
            The stored entries of a sparse matrix of users × items are counts. Of a `Ratings`, and of a data set of
            ratings, each rating counts as one interaction.
        y : array-like of shape (n,), optional
            How often each pair occurred, at least 0; by default once. Ratings are no counts: leave them out.""",
    "interaction_weight": """\
        sample_weight : array-like of shape (n,), or sparse matrix of the shape of X, optional
            How much each row of X counts, at least 0; it multiplies counts. Of a sparse matrix X the numbers are in the
            order of ``X.tocoo()``, which ``astype`` of X may change; those of a sparse matrix of weights go to the
            interactions at their places: ``fit(plays.astype(bool), sample_weight=plays)``.""",
    "kind": """\
        kind : array-like of shape (n,), optional
            The kind of each event, such as view, cart or purchase; by default from a column of X that is called event,
            event_type, action, behavior or kind. What an event of a kind counts is learned in the fit, by which items
            with the target are held out: `kind_weights_`. Later events count as it says, those without kinds 1.""",
    "target": """\
        target : str, optional
            The kind that lists are to be about. By default the rarest one that has 300 events, or else the one with
            most.""",
    "popularity_weight": """\
        popularity_weight : float or "auto", default="auto"
            What popularity adds to scores: so much, as a multiple of the mean score of interactions, to that of the
            most popular item, to others in proportion to log(1 + interactions). Popular items come first among equals
            in any case, with 0 too. "auto" holds out a tenth of the interactions of each user and takes the best of
            .03, .1, ..., 100 by places in lists, or 0, where these become hardly better; where no user has two items,
            100.""",
    "counts": """\
        counts : {"log", "linear", "binary"}, default={default}
            What a count says: 1 + ln(count) if it is above 1, the count itself, or that there is one. Counts are known
            to be heavy-tailed; interactions without counts say 1 in each way.""",
    "time_of_pairs": """\
        time : array-like of shape (n,), number, or date, optional
            When each pair is to be predicted for, or one time for all, for models that know time, which need it; by
            default those in a third column of X, as in `fit`. Other models refuse it, and pass over a third column of
            X.""",
    # ------------------------------------------------------------ of labels
    "n_components": """\
        n_components : int or float, default={default}
            Number d of components, or its share of the number of labels, in (0, 1].""",
    "fit_intercept": """\
        fit_intercept : bool, default=True
            Whether the regression has an intercept, which is not penalized.""",
    "coding": """\
        coding : {"-1/1", "0/1"}, default={default}
            How labels are written in Z; the plain cut lies half way.""",
    "scale": """\
        scale : {"auto", "none", "rows", "tf-idf", "sd", "standard", "standard-rows"}, default={default}
            How features are scaled, see `cofactor.labels.Scaling`. "auto" takes what suits ridge regression best by its
            leave-one-out error.""",
    "n_neighbors": """\
        n_neighbors : int or "auto", default={default}
            Number k of neighbours; all other instances if there are fewer. "auto" takes that one of 5, 10, 20 and 50,
            at most an eighth of the instances, whose leave-one-out shares have the least squared error.""",
    "neighbour_scale": """\
        scale : {"auto", "none", "rows", "tf-idf", "sd", "standard", "standard-rows"}, default="auto"
            How features are scaled, see `cofactor.labels.Scaling`. "auto" takes the scale in which the shares of
            neighbours have the least leave-one-out error.""",
    "threshold": f"""\
        threshold : float or {{{_RULES}}}, default={{default}}
            {_OF_RULES}""",
    "set_threshold": f"""\
        threshold : float or {{{_RULES}, "joint"}}, default={{default}}
            {_OF_RULES}""",
    "field_threshold": f"""\
        threshold : float or {{{_RULES}, "joint"}}, default={{default}}
            {_OF_RULES}
            "joint" predicts the likeliest label set, the decision of the field for subset accuracy; "auto" cuts
            probabilities of single labels. These are the marginals with "joint" or a number; other thresholds calibrate
            them, and the marginals are ``scipy.special.expit(model.decision_function(X))``.""",
    "decide_for": """\
        decide_for : {"micro", "macro", "example", "hamming", "subset"} or dict, default={default}
            What decisions with ``threshold="auto"`` are best at: micro-F1, macro-F1, F1 of each instance, Hamming loss
            or subset accuracy; or what they must reach, as `LabelModel.set_decision` takes it, such as a ``precision``
            or ``at_most`` so many labels. Other thresholds do not look at it, so a fit refuses all but "micro" with
            them.""",
    "features": f"""\
        X : {_FEATURES}
            Features, from -1e15 to 1e15.""",
    "labels": f"""\
        y : {_LABELS}
            Labels: 0 and 1, False and True, or -1 and 1.""",
    "sample_weight": """\
        sample_weight : array-like of shape (n,), optional
            Weights of the instances, not negative: weight 2 counts as the instance twice, weight 0 as if it were not
            there. By default all weigh 1. Where a fit chooses by what it predicts of instances that are left out, an
            instance goes with its whole weight, but of two copies one. Penalties and decisions that the fit chooses by
            itself follow the scale of weights, so that only their ratios count, except in models that take whole
            numbers and repeat instances (see `capabilities`); the weight of a penalty that you give stands beside them
            as they are.""",
    "mask": """\
        mask : array-like, sparse matrix or array, or frame, of shape (n, L), optional
            True where a label is known; the others do not count, for models that have the parameter `missing`. A label
            that is NaN is not known, either. Instances without any known label are left out.""",
    "recorded": """\
        recorded : float or array-like of shape (L,), optional
            Share of the labels that are on which y records, for positive-unlabelled data: what is off in y is off, or
            nobody recorded it. It is above 0, at most 1, and at least the share of the instances for which y has the
            label, since no more than all can have it. Probabilities are divided by it, and decisions rest on these.
            This assumes that the features do not say which labels were recorded, and needs ``threshold="auto"``. Of
            labels that are rare and nearly certain it helps little. With a share of 0.4, drawn by chance, micro-F1 of
            `BinaryRelevance` rises from .69 to .72 on medical (.83 if all are recorded), and from .62 to .65 on
            emotions (.68); of `LabelRidge` from .74 to .75 (.83), and from .65 to .66 (.71).""",
    "class_weight": """\
        class_weight : "balanced", array-like of shape (L,), dict or None, default={default}
            Weight, for each label, of the instances that have it, where those that have it not weigh 1; a dict has
            names of labels, and 1 for the others. Where labels are called 0 to L - 1, a dict of 0 and 1 alone is
            refused, since it may mean the classes off and on. "balanced" gives both halves of the instances the same
            weight in sum. It changes what is learned; probabilities, and decisions by them, are learned without these
            weights.""",
    "missing": """\
        missing : {"error", "ignore"}, default={default}
            What to do with labels that are NaN: refuse them, or learn from the known ones alone.""",
    "label_names": """\
        label_names : iterable of length L, optional
            Names of the labels; by default the columns of a frame, and 0 to L - 1 else.""",
    "path": """\
        path : str or Path
            The file; written whole or not at all.""",
}

_PLACEHOLDER = re.compile(r"^([ \t]*)\{(\w+)\}[ \t]*$", re.MULTILINE)


def filled(text: str, defaults: Mapping[str, Any] | None = None) -> str:
    r"""Return a docstring with the shared texts in place of their names.

    Parameters
    ----------
    text : str
    defaults : mapping of str to object, optional
        Defaults of parameters, for texts which name them.

    Raises
    ------
    ValueError
        If there is no shared text of a name.

    Examples
    --------
    >>> print(filled("{max_iter}\n    Few are enough.\n{verbose}", {"max_iter": 100}))
    max_iter : int, default=100
        Largest number of iterations.
        Few are enough.
    verbose : int, default=0
        1 shows progress: a bar on a terminal or in a notebook, elsewhere lines of the logger "cofactor" (INFO). A
        last line says after how many steps and seconds the fit ended.
    """

    def text_of(match: re.Match[str]) -> str:
        indent, name = match.groups()
        if name not in PARAMETERS:
            raise InvalidInputError(f"there is no shared text {{{name}}} in cofactor.model.docs.PARAMETERS")
        shared = textwrap.dedent(PARAMETERS[name])
        if "{default}" in shared:
            parameter = shared.partition(" :")[0]
            shared = shared.replace("{default}", _written((defaults or {}).get(parameter)))
        return textwrap.indent(shared, indent)

    return _PLACEHOLDER.sub(text_of, text)


def fill_docs(kind: _Class) -> _Class:
    """Put the shared texts into the docstrings of a class and of its own methods; return the class.

    Parameters
    ----------
    kind : type

    Examples
    --------
    >>> @fill_docs
    ... class Model:
    ...     '''A model.
    ...
    ...     Parameters
    ...     ----------
    ...     {verbose}
    ...     '''
    >>> print(Model.__doc__.splitlines()[4].strip())
    verbose : int, default=0
    """
    defaults = {name: parameter.default for name, parameter in inspect.signature(kind.__init__).parameters.items()}
    if "__doc__" in vars(kind) and kind.__doc__:
        kind.__doc__ = filled(kind.__doc__, defaults)
    for member in list(vars(kind).values()):
        # A method of scikit-learn's `available_if` holds the function as `fn`.
        for function in (member, getattr(member, "fn", None)):
            if isinstance(function, FunctionType) and function.__doc__:
                function.__doc__ = filled(function.__doc__)
    return kind


def _written(default: Any) -> str:
    """Return a default as docstrings write it."""
    return f'"{default}"' if isinstance(default, str) else repr(default)
