"""What shells may ask: of a kind of data, and of a model that was fitted to it.

A `Task` is one kind of data: it reads files, knows its models by name, fits and evaluates them. A `ModelService` is
what a fitted model can be asked from outside: the command line writes its tables, a server sends its rows. Neither
prints: both return plain data with notes for the user (`cofactor.service.results`), which each shell shows in its way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from cofactor.errors import Argument, InvalidInputError, Place, Text
from cofactor.files import display_name, exists
from cofactor.model.facts import Facts
from cofactor.service.options import LABELS, RATINGS, OptionTable
from cofactor.service.results import (
    AnswerTable,
    Built,
    Column,
    EvaluationProgress,
    EvaluationResult,
    Loaded,
    Protocol,
    RankedResult,
    Settings,
)
from cofactor.text import did_you_mean, nearest, normalize_name, plural

if TYPE_CHECKING:  # these load NumPy, which commands that show their help need not
    from cofactor.model.explanations import Explanation
    from cofactor.typing import Listener, SideName


class ModelService:
    """What a fitted model can be asked from outside. The model is not changed.

    Questions of the command line are about files and have tables as answers (`predict_file`, `recommend_table`,
    `similar_table`, `explain_table`); those of a server come without files, and have rows as JSON has them.

    Parameters
    ----------
    model : estimator
        Fitted.
    called : str, default="the model"
        What messages call it: its file.
    """

    kind: ClassVar[str] = "another kind"

    def __init__(self, model: Any, called: str = "the model") -> None:
        self.model, self.called = model, called

    # ---------------------------------------------------------------- questions about files

    def predict_file(self, file: str, options: Mapping[str, Any]) -> AnswerTable:
        """Predict for what a file holds.

        Parameters
        ----------
        file : str
            Path, or ``-``.
        options : mapping from str to object
            As `Task.values` returns them for "predict".
        """
        self._cannot("which predicts nothing for files")

    def recommend_table(self, users: Sequence[str] | None, options: Mapping[str, Any]) -> AnswerTable:
        """Recommend items to users, known or new ones.

        Parameters
        ----------
        users : sequence of str or None
            Their ids; None for all of them.
        options : mapping from str to object
            As `Task.values` returns them for "recommend".
        """
        self._cannot("which recommends no items: see cofactor predict --help")

    def similar_table(
        self,
        ids: Sequence[Any],
        n: int,
        side: SideName = "item",
        min_ratings: int = 5,
        titles: str | None = None,
        encoding: str = "utf-8",
    ) -> AnswerTable:
        """Return the items that the model holds to be most like each of some, or users likewise.

        Parameters
        ----------
        ids : sequence
            Ids of items, or of users.
        n : int
            How many to return for each.
        side : {"item", "user"}, default="item"
            What the ids are of.
        min_ratings : int, default=5
            Fewest ratings of those that are returned.
        titles : str, optional
            A known data set, or a file of ids and titles.
        encoding : str, default="utf-8"
            Of that file.
        """
        self._cannot("which has no similar items")

    def explain_table(self, of: Any, what: Any, n: int, options: Mapping[str, Any]) -> AnswerTable:
        """Return what predictions rest on, the strongest reasons first.

        Parameters
        ----------
        of : object
            Id of a user, or the file with the features of instances.
        what : sequence
            Ids of items, or names of labels; None for the labels that are predicted.
        n : int
            Number of reasons for each prediction.
        options : mapping from str to object
            As `Task.values` returns them for "explain".
        """
        self._cannot("whose predictions cannot be explained yet")

    def read_more(self, file: str, options: Mapping[str, Any]) -> Loaded:
        """Read a file from which the model is to learn more, as the one to which it was fitted; see `update`.

        Parameters
        ----------
        file : str
            Path, or ``-``.
        options : mapping from str to object
            As `Task.values` returns them for "update"; what the model knows of the columns need not be said again.
        """
        self._cannot("which learns nothing more")

    def update(self, loaded: Loaded, options: Mapping[str, Any]) -> Any:
        """Return a copy of the model that has also learned from more data.

        Parameters
        ----------
        loaded : Loaded
            What `read_more`, or `Task.read`, returned.
        options : mapping from str to object
            As of `read_more`.
        """
        self._cannot("which learns nothing more")

    # ---------------------------------------------------------------- questions without files

    def describe(self) -> dict[str, Any]:
        """Return kind, class, sizes and settings of the model, and what it offers, as JSON has them."""
        return {"kind": self.kind, **to_json(self.about()), "offers": self.offers, "settings": _settings(self.model)}

    @cached_property
    def offers(self) -> list[str]:
        """Names of `questions` that the model answers."""
        answered = []
        for name, ask in self.questions().items():
            with suppress(InvalidInputError):
                ask()
                answered.append(name)
        return answered

    def facts(self) -> Facts:
        """Return sizes and settings of the model."""
        self._cannot("of which nothing is known")

    def about(self) -> Mapping[str, Any]:
        """Return class and sizes of the model, and what else a server says of it."""
        return self.facts().values

    def example(self) -> dict[str, Any]:
        """Return what the model knows, for examples of questions."""
        self._cannot("which cannot be served")

    def warm_up(self) -> None:
        """Answer one question of each kind that the model can answer, so that all it needs is compiled."""
        self._cannot("which cannot be served")

    def questions(self) -> Mapping[str, Callable[[], object]]:
        """Return small questions that not every model of the kind answers, by name."""
        return {}

    def _cannot(self, why: str) -> NoReturn:
        raise InvalidInputError(f"{self.called}: is a model of {self.kind}, {why}")


#: What a term of each kind is called in JSON, and its value; the value of an instance says nothing.
_TERMS = {
    "rating": ("item", "rating"),
    "interaction": ("item", "times"),
    "feature": ("feature", "value"),
    "instance": ("instance", None),
}


def explanation_to_json(
    found: Explanation, what: str, named: Callable[[Any], Any] = lambda term: term
) -> list[dict[str, Any]]:
    """Return an explanation as JSON has it: an object for each item, or label, with the list of its reasons.

    Parameters
    ----------
    found : Explanation
        Of a model.
    what : {"item", "label"}
        What is explained.
    named : callable, optional
        Returns the name of a feature for the term that stands for it.
    """
    explained = []
    for group in found.groups():
        one: dict[str, Any] = {what: group[what], "score": group["score"], "reasons": []}
        for term in group["terms"]:
            kind, name, value = (term.pop(key) for key in ("kind", "term", "value"))
            amounts = {key: amount for key, amount in term.items() if amount is not None}
            if kind == "intercept":
                one["intercept"] = amounts["contribution"]
            elif kind == "rest":
                one["rest"] = {"reasons": name, "contribution": amounts["contribution"]}
            else:
                called, of_value = _TERMS[kind]
                valued = {} if of_value is None else {of_value: value}
                one["reasons"].append({called: named(name) if kind == "feature" else name, **valued, **amounts})
        explained.append(one)
    return explained


def to_json(value: Any) -> Any:
    """Return a value as JSON has it; a model within another as its class and settings.

    Parameters
    ----------
    value : object
        Of a model's settings or facts.
    """
    if isinstance(value, type):  # a dtype, such as np.float32
        return str(value)
    if hasattr(value, "get_params"):
        return {"model": type(value).__name__, **_settings(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(one) for key, one in value.items()}
    if hasattr(value, "tolist"):  # an array, or a number, of NumPy
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [to_json(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _settings(model: Any) -> Any:
    return to_json({k: one for k, one in model.get_params(deep=False).items() if k not in ("callback", "verbose")})


class Task(ABC):
    """One kind of data: its files, its models, how they are fitted and measured.

    Attributes
    ----------
    name : str
        "ratings" or "labels".
    options : mapping from str to tuple of Option
        The options it takes, by what is done.
    service : type
        The `ModelService` of its models.
    one_model, many_models : str
        What its models are called in messages.
    default_model : str
        Name of the model where none is asked for.
    compared_models : tuple of str
        Names of the models that are compared where none are asked for.
    default_protocol, default_splits
        How it is evaluated where nothing else is said.
    best : str
        Key of the measure that decides which model is the best.
    highest : bool
        Whether high values of that measure are good.
    other_names : mapping from str to str
        Names of models by what else they are called, in lower case without hyphens; messages suggest them.
    """

    name: ClassVar[str]
    options: ClassVar[OptionTable] = {}
    service: ClassVar[type[ModelService]] = ModelService
    one_model: ClassVar[str]
    many_models: ClassVar[str]
    default_model: ClassVar[str]
    compared_models: ClassVar[tuple[str, ...]] = ()
    default_protocol: ClassVar[str] = "holdout"
    default_splits: ClassVar[int] = 3
    best: ClassVar[str]
    highest: ClassVar[bool] = False
    other_names: ClassVar[Mapping[str, str]] = {}

    def values(self, verb: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of all options of this task, defaults for those not given; refuse others.

        Parameters
        ----------
        verb : str
            What is done: "fit", "predict", ...
        given : mapping from str to object
            What a user gave, by name of the option.
        """
        known = {option.name: option for option in self.options.get(verb, ())}
        for name in given:
            if name not in known:
                raise InvalidInputError((Argument(name), f" is no option of {self.name}, which has ", ", ".join(known)))
        return {name: option.value(given.get(name)) for name, option in known.items()}

    # ---------------------------------------------------------------- files and models

    @abstractmethod
    def read(self, file: str, options: Mapping[str, Any], progress: Any = None) -> Loaded:
        """Read a file, standard input, or a known data set.

        Parameters
        ----------
        file : str
            Path, ``-``, or name of a data set, in this order.
        options : mapping from str to object
            As `values` returns them for "fit".
        progress : object, optional
            Progress bar of a download, as `cofactor.datasets.fetch` takes it.
        """

    @abstractmethod
    def models(self) -> dict[str, type[Any]]:
        """Return the models by their names; case, hyphens and underscores do not matter to `build`."""

    @abstractmethod
    def owns(self, model: object) -> bool:
        """Return whether a fitted model is one of this task."""

    @abstractmethod
    def build(self, name: str, settings: Settings) -> Built:
        """Return the unfitted model that settings describe.

        Parameters
        ----------
        name : str
            Name of the model; case, hyphens and underscores do not matter.
        settings : Settings
            Its parameters, and options of the task.

        Raises
        ------
        InvalidInputError
            If the model or a parameter is not known.
        """

    def contestants(self, names: Sequence[str], settings: Settings) -> tuple[dict[str, Any], tuple[Text, ...]]:
        """Return models for an evaluation by what results call them, and notes for the user.

        Parameters
        ----------
        names : sequence of str
            Names of different models.
        settings : Settings
            Parameters that these leave open are chosen in each training part.

        Raises
        ------
        InvalidInputError
            If two names mean the same model.
        """
        models: dict[str, Any] = {}
        notes: list[Text] = []
        for name in names:
            built = self.build(name, settings)
            called = type(built.model).__name__
            if called in models:
                raise InvalidInputError(f"{called} is given twice; give it once", argument="model", found=name)
            models[called] = built.model
            notes += built.notes
        return models, tuple(notes)

    def default_models(self, settings: Settings, *, compared: bool = False, ranked: bool = False) -> tuple[str, ...]:
        """Return the names of the models where none is asked for.

        Parameters
        ----------
        settings : Settings
            As `build` takes them.
        compared : bool, default=False
            Whether models are compared.
        ranked : bool, default=False
            Whether lists of recommendations are measured.
        """
        return self.compared_models if compared else (self.default_model,)

    def elsewhere(self) -> tuple[str, Iterable[str]]:
        """Return what a model of the other task is called, and the names of such; by default of none."""
        return "", ()

    def find(self, name: str) -> type[Any]:
        """Return the model of a name; case, hyphens and underscores do not matter.

        Parameters
        ----------
        name : str
            What a user wrote.

        Raises
        ------
        InvalidInputError
            If there is none: with the nearest names and all names, or with the task that has this model.
        """
        known = self.models()
        found = {normalize_name(one): model for one, model in known.items()}.get(normalize_name(name))
        if found is not None:
            return found
        what, elsewhere = self.elsewhere()
        if normalize_name(name) in map(normalize_name, elsewhere):
            mine = f"{self.many_models} are {', '.join(known)}"
            raise InvalidInputError(f"is a {what}; {mine}", argument="model", found=name)
        other = self.other_names.get(normalize_name(name))
        near = nearest(name, known) if other is None else [other]
        hint = f" (did you mean {', '.join(near)}?)" if near else ""
        message = f"not a known model{hint}; expected one of {', '.join(known)}"
        raise InvalidInputError(message, argument="model", found=name)

    @abstractmethod
    def fit(self, model: Any, loaded: Loaded, settings: Settings, listen: Listener | None = None) -> tuple[Any, Facts]:
        """Fit a model, choose the parameters that the settings leave open, and describe the result.

        Parameters
        ----------
        model : estimator
            As `build` returns it. It is not changed.
        loaded : Loaded
            What `read` returned.
        settings : Settings
            With which the model was built.
        listen : callable, optional
            Called with progress.

        Returns
        -------
        model : estimator
            Fitted.
        facts : Facts
        """

    # ---------------------------------------------------------------- evaluation

    @abstractmethod
    def metrics(self, models: Mapping[str, Any]) -> tuple[Column, ...]:
        """Return the measures of these models, in the order of tables."""

    @abstractmethod
    def splits(self, loaded: Loaded, protocol: Protocol) -> list[Any]:
        """Return the parts of each split, as `measure` takes them."""

    @abstractmethod
    def measure(
        self, model: Any, loaded: Loaded, parts: Any, keep: Callable[[Any], object] | None = None
    ) -> Mapping[str, dict[str, Any]]:
        """Fit a copy of a model to the training part, and measure it on the test part.

        Parameters
        ----------
        model : estimator
            Not changed.
        loaded : Loaded
            What `read` returned.
        parts : object
            One of what `splits` returned.
        keep : callable, optional
            Called with the model when it is fitted.

        Returns
        -------
        mapping from str to dict
            The measures, by the way in which the model decides: ``{"": measures}`` where there is only one.
        """

    def suited(self, models: Mapping[str, Any], sets: Sequence[Loaded]) -> dict[str, Any]:
        """Return models for a comparison on some data, as these need them.

        Parameters
        ----------
        models : mapping from str to estimator
            Not changed.
        sets : sequence of Loaded
            What `read` returned.
        """
        return dict(models)

    def baselines(self, loaded: Loaded | None, settings: Settings) -> dict[str, Any]:
        """Return simple rules with which the models are compared, by name; without data such as suit any."""
        return {}

    def prepared(
        self, models: Mapping[str, Any], loaded: Loaded, settings: Settings
    ) -> tuple[dict[str, Any], tuple[Text, ...]]:
        """Return copies of models, with parameters that the data determine, and notes for the user."""
        return dict(models), ()

    def warm_up(self, models: Sequence[Any], loaded: Loaded) -> None:
        """Load and compile the code of the models, so that no measured fit has to; by default do nothing."""
        return

    def listen(self, model: Any, listener: Listener | None) -> None:
        """Let a model report its progress to a listener, if it can; None ends that."""
        if "callback" in model.get_params(deep=False):
            model.set_params(callback=listener)

    def evaluate(
        self,
        models: Mapping[str, Any],
        loaded: Loaded,
        protocol: Protocol,
        settings: Settings,
        listen: Callable[[EvaluationProgress], None] | None = None,
    ) -> EvaluationResult:
        """Measure models, and the baselines, on the same splits.

        Parameters
        ----------
        models : mapping from str to estimator
            By what results call them.
        loaded : Loaded
            What `read` returned.
        protocol : Protocol
            How to split.
        settings : Settings
            With which the models were built.
        listen : callable, optional
            Called with the progress before each fit, and during it.
        """
        name = protocol.name or self.default_protocol
        parts = self.splits(loaded, protocol)
        ready, notes = self.prepared(models, loaded, settings)
        everyone = {**ready, **self.baselines(loaded, settings)}
        self.warm_up(list(everyone.values()), loaded)
        results: dict[str, list[dict[str, Any]]] = {}
        done, total = 0, len(parts) * len(everyone)
        for k, part in enumerate(parts):
            for called, model in everyone.items():
                if listen is not None:
                    listen(EvaluationProgress(called, k + 1, done, total))
                    self.listen(model, _passing_on(listen, EvaluationProgress(called, k + 1, done, total)))
                for way, measures in self.measure(model, loaded, part).items():
                    results.setdefault(f"{called} + {way}" if way else called, []).append(measures | {"fold": k})
                done += 1
        return EvaluationResult(
            title=f"{loaded.name}: {name}, {plural(len(parts), 'split')}, seed {protocol.seed}",
            facts={"data": loaded.name, "protocol": name, "splits": len(parts), "seed": protocol.seed},
            results=results,
            columns=self.metrics(models),
            best=self.best,
            highest=self.highest,
            notes=notes,
        )

    def ranks(self, loaded: Loaded, options: Mapping[str, Any]) -> bool:
        """Return whether lists of recommendations are measured, of such data with such options, and no predictions."""
        return bool(options.get("rank"))

    def rank(
        self,
        models: Mapping[str, Any],
        loaded: Loaded,
        protocol: Protocol,
        settings: Settings,
        listen: Callable[[EvaluationProgress], None] | None = None,
    ) -> RankedResult:
        """Measure the lists that models recommend, beside what is popular; the parameters are those of `evaluate`."""
        raise InvalidInputError(f"{self.name}: no items are recommended")


def _passing_on(listen: Callable[[EvaluationProgress], None], now: EvaluationProgress) -> Listener:
    return lambda inner: listen(replace(now, inner=inner))


@contextmanager
def about(file: str) -> Iterator[None]:
    """Within the block, errors name this file; those which name an argument or another place stay as they are.

    Parameters
    ----------
    file : str
        Path, or ``-``.
    """
    try:
        yield
    except InvalidInputError as error:
        if error.place is not None or error.argument is not None:
            raise
        raise error.at(Place(display_name(file))) from error


# -------------------------------------------------------------------- the tasks there are


@dataclass(frozen=True)
class Entry:
    """A task that shells know.

    Attributes
    ----------
    options : mapping from str to tuple of Option
        The options it takes, by what is done.
    load : callable
        Returns the task.
    """

    options: OptionTable
    load: Callable[[], Task]


def _loader(module: str, name: str) -> Callable[[], Any]:
    return lambda: getattr(import_module(module), name)()


#: The tasks by name. The first one is for files whose task cannot be found out.
TASKS: dict[str, Entry] = {
    "ratings": Entry(RATINGS, _loader("cofactor.service.ratings", "RatingTask")),
    "labels": Entry(LABELS, _loader("cofactor.service.labels", "LabelTask")),
}


def task_named(name: str) -> Task:
    """Return a task by its name.

    Parameters
    ----------
    name : str
        One of `TASKS`.
    """
    if name not in TASKS:
        raise InvalidInputError(did_you_mean(name, TASKS), argument="task", found=name)
    return TASKS[name].load()


def check_file(file: str) -> None:
    """Refuse a name that is neither of a file nor of a known data set, before anything is loaded to read it.

    Parameters
    ----------
    file : str
        Path, ``-``, or name of a data set.
    """
    from cofactor.datasets.registry import KNOWN

    if not exists(file) and file not in KNOWN:
        raise unknown_file(file)


def unknown_file(file: str) -> InvalidInputError:
    """Return the error for a name that is neither of a file nor of a known data set; it names some of these.

    Parameters
    ----------
    file : str
        What was given.
    """
    from cofactor.datasets.registry import KNOWN

    of_ratings, of_labels = ([one.name for one in KNOWN.values() if one.task == task] for task in ("ratings", "labels"))
    near = nearest(file, [*sorted(of_ratings), *of_labels])
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    sets = f"{', '.join(sorted(of_ratings))}; of labels {', '.join(of_labels[:4])}, ..."
    return InvalidInputError(f"{file}: no such file, and no known data set ({sets}){hint}")


def sniff(file: str) -> str | None:
    """Return the name of the task of a file or a known data set; None if its first bytes do not show it.

    Parameters
    ----------
    file : str
        Path, ``-``, or name of a data set.
    """
    from cofactor.datasets.formats import open_data

    holds = open_data(file).holds
    return holds if holds in TASKS else None


def task_of(model: object) -> Task:
    """Return the task of a fitted model.

    Parameters
    ----------
    model : estimator
        Fitted.

    Raises
    ------
    InvalidInputError
        If no task has such models.
    """
    for entry in TASKS.values():
        found = entry.load()
        if found.owns(model):
            return found
    message = f"{type(model).__name__} is no model of {' or '.join(TASKS)}"
    raise InvalidInputError(message, advice="use transformers, and pipelines with them, from Python")


def service_of(model: Any, called: str = "the model", **more: Any) -> Any:
    """Return the service of a fitted model, or of a pipeline of transformers that ends in one.

    Parameters
    ----------
    model : estimator
        Fitted.
    called : str, default="the model"
        What messages call it.
    **more
        Titles of items, for a model of ratings.
    """
    end = model.steps[-1][1] if hasattr(model, "steps") else model
    return task_of(end).service(model, called, **more)
