"""What a shell may ask of a task.

A task stands between estimators and the shells: the command line, and a server. It reads files, knows its models by
name, fits, predicts, evaluates and describes. It never prints: it returns tables and facts, with notes for the user
(`cofactor.tasks.plain`), and each shell shows them in its own way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, NoReturn, TypeAlias

from cofactor.errors import InvalidInputError, Text
from cofactor.tasks.on_lists import OnLists
from cofactor.tasks.options import OptionTable, without_unknown
from cofactor.tasks.plain import (
    Built,
    Column,
    Facts,
    Loaded,
    Measured,
    Progress,
    Protocol,
    Ranked,
    Request,
    Settings,
    Table,
)
from cofactor.text import counted, did_you_mean, folded, nearest
from cofactor.typing import Listener

__all__ = ["ABILITIES", "Task"]

Ability: TypeAlias = Literal[
    "predict", "recommend", "fold_in", "update", "similar", "explain", "describe", "answer", "evaluate"
]

#: What some tasks cannot do, and the method which a task that can overrides.
ABILITIES: dict[Ability, str] = {
    "predict": "predict",
    "recommend": "recommend",
    "fold_in": "fold_in",
    "update": "update",
    "similar": "similar",
    "explain": "explain",
    "describe": "describe",
    "answer": "answers",
    "evaluate": "measure",
}


class Task(OnLists, ABC):
    """What shells may ask about one kind of data.

    Subclasses read files, build models, fit and measure; `can` tells the rest.

    Attributes
    ----------
    name : str
    options : mapping from str to tuple of Option
        The options it takes, by what is done.
        "ratings" or "labels".
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
    one_model: ClassVar[str]
    many_models: ClassVar[str]
    default_model: ClassVar[str]
    compared_models: ClassVar[tuple[str, ...]] = ()
    default_protocol: ClassVar[str] = "holdout"
    default_splits: ClassVar[int] = 3
    best: ClassVar[str]
    highest: ClassVar[bool] = False
    other_names: ClassVar[Mapping[str, str]] = {}

    def can(self, ability: Ability) -> bool:
        """Return whether this task can do something.

        Parameters
        ----------
        ability : str
            One of `ABILITIES`.
        """
        if ability not in ABILITIES:
            raise InvalidInputError(did_you_mean(ability, ABILITIES), argument="ability", found=ability)
        method = ABILITIES[ability]
        return getattr(type(self), method) is not getattr(Task, method)

    def values(self, verb: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the options of this task; refuse options that it does not have.

        Parameters
        ----------
        verb : str
            What is done: "fit", "predict", ...
        given : mapping from str to object
            What a user gave, by name of the option.
        """
        return without_unknown(given, self.options.get(verb, ()), self.name)

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

    def read_for(self, model: Any, file: str, options: Mapping[str, Any]) -> Loaded:
        """Read a file from which a fitted model is to learn more, as the one to which it was fitted; see `update`.

        Parameters
        ----------
        model : estimator
            Fitted.
        file : str
            As in `read`.
        options : mapping from str to object
            As `values` returns them for "update"; what the model knows of the columns need not be said again.
        """
        return self.read(file, options)

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

    def contestant(self, name: str, settings: Settings) -> Built:
        """Return a model for an evaluation: parameters that the settings leave open are chosen in each training part.

        Parameters
        ----------
        name : str
            Name of the model.
        settings : Settings
            Its parameters, and options of the task.
        """
        return self.build(name, settings)

    def contestants(self, names: Sequence[str], settings: Settings) -> tuple[dict[str, Any], tuple[Text, ...]]:
        """Return models for an evaluation by what results call them, and notes for the user.

        Parameters
        ----------
        names : sequence of str
            Names of different models.
        settings : Settings
            As `contestant` takes them.

        Raises
        ------
        InvalidInputError
            If two names mean the same model.
        """
        models: dict[str, Any] = {}
        notes: list[Text] = []
        for name in names:
            built = self.contestant(name, settings)
            called = self.name_of(built.model)
            if called in models:
                raise InvalidInputError(f"{called} is given twice; give it once", argument="model", found=name)
            models[called] = built.model
            notes += built.notes
        return models, tuple(notes)

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
        found = {folded(one): model for one, model in known.items()}.get(folded(name))
        if found is not None:
            return found
        what, elsewhere = self.elsewhere()
        if folded(name) in map(folded, elsewhere):
            mine = f"{self.many_models} are {', '.join(known)}"
            raise InvalidInputError(f"is a {what}; {mine}", argument="model", found=name)
        near = [self.other_names[folded(name)]] if folded(name) in self.other_names else nearest(name, known)
        hint = f" (did you mean {', '.join(near)}?)" if near else ""
        message = f"not a known model{hint}; expected one of {', '.join(known)}"
        raise InvalidInputError(message, argument="model", found=name)

    def name_of(self, model: Any) -> str:
        """Return what a model is called in results."""
        return type(model).__name__

    # ---------------------------------------------------------------- fit, and what a fitted model does

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

    def predict(self, model: Any, file: str, options: Mapping[str, Any], called: str = "the model") -> Table:
        """Predict for what a file holds.

        Parameters
        ----------
        model : estimator
            Fitted.
        file : str
            Path, or ``-``.
        options : mapping from str to object
            As `values` returns them for "predict".
        called : str, default="the model"
            What messages call the model.
        """
        self._cannot("predict")

    def recommend(self, model: Any, request: Request, options: Mapping[str, Any], called: str = "the model") -> Table:
        """Recommend items to users.

        Parameters
        ----------
        model : estimator
            Fitted.
        request : Request
            What, and to whom.
        options : mapping from str to object
            How to read ratings of new users: as `values` returns them for "recommend".
        called : str, default="the model"
            What messages call the model.
        """
        self._cannot("recommend")

    def fold_in(self, model: Any, file: str | None, options: Mapping[str, Any]) -> Built:
        """Return a model for the new users of a file, without training again.

        Parameters
        ----------
        model : estimator
            Fitted. It is not changed.
        file : str or None
            Path, or ``-``; None where features alone, which an option names, describe the users.
        options : mapping from str to object
            As `values` returns them for "recommend".
        """
        self._cannot("fold_in")

    def update(self, model: Any, loaded: Loaded, options: Mapping[str, Any] | None = None) -> Any:
        """Return a copy of a fitted model that has also learned from more data.

        Parameters
        ----------
        model : estimator
            Fitted. It is not changed.
        loaded : Loaded
            What `read_for`, or `read`, returned.
        options : mapping from str to object, optional
            As `values` returns them for "update".
        """
        self._cannot("update")

    def similar(self, model: Any, ids: Sequence[Any], n: int, options: Mapping[str, Any] | None = None) -> Table:
        """Return the items that a fitted model holds to be most like each of some, or users likewise.

        Parameters
        ----------
        model : estimator
            Fitted.
        ids : sequence
            Ids of items, or of users.
        n : int
            How many to return for each.
        options : mapping from str to object, optional
            "side": "item" or "user"; "titles": a known data set, or a file of ids and titles; "encoding" of that file;
            "min_ratings": fewest ratings of those that are returned.
        """
        self._cannot("similar")

    def explain(self, model: Any, of: Any, item: Any, n: int = 10, options: Mapping[str, Any] | None = None) -> Table:
        """Return what predictions of a fitted model rest on, the strongest first.

        Parameters
        ----------
        model : estimator
            Fitted.
        of : object
            Id of a user, or the file with the features of instances.
        item : object
            Id of an item, or names of labels; None for the labels that are predicted.
        n : int, default=10
            Number of reasons for each prediction.
        options : mapping from str to object, optional
            As `values` returns them for "explain".
        """
        self._cannot("explain")

    def describe(self, model: Any) -> Facts:
        """Return sizes and settings of a fitted model."""
        self._cannot("describe")

    def answers(self, model: Any, titles: Mapping[str, str] | None = None) -> Any:
        """Return what answers questions to a fitted model that come without files, as those to a server.

        Parameters
        ----------
        model : estimator
            Fitted.
        titles : mapping from str to str, optional
            Titles of items by the text of their ids.
        """
        self._cannot("answer")

    # ---------------------------------------------------------------- evaluation

    def metrics(self, models: Mapping[str, Any]) -> tuple[Column, ...]:
        """Return the measures of these models, in the order of tables."""
        self._cannot("evaluate")

    def splits(self, loaded: Loaded, protocol: Protocol) -> list[Any]:
        """Return the parts of each split, as `measure` takes them."""
        self._cannot("evaluate")

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
        self._cannot("evaluate")

    def baselines(self, loaded: Loaded, settings: Settings) -> dict[str, Any]:
        """Return simple rules with which the models are compared, by name."""
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
        listen: Callable[[Progress], None] | None = None,
    ) -> Measured:
        """Measure models, and the baselines, on the same splits.

        Parameters
        ----------
        models : mapping from str to estimator
            By name.
        loaded : Loaded
            What `read` returned.
        protocol : Protocol
            How to split.
        settings : Settings
            With which the models were built.
        listen : callable, optional
            Called before each fit, and whenever a model reports.

        Returns
        -------
        Measured
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
                    listen(Progress(called, k + 1, done, total))
                    self.listen(model, _passing_on(listen, Progress(called, k + 1, done, total)))
                for way, measures in self.measure(model, loaded, part).items():
                    results.setdefault(f"{called} + {way}" if way else called, []).append(measures | {"fold": k})
                done += 1
        return Measured(
            title=f"{loaded.name}: {name}, {counted(len(parts), 'split')}, seed {protocol.seed}",
            facts={"data": loaded.name, "protocol": name, "splits": len(parts), "seed": protocol.seed},
            results=results,
            columns=self.metrics(models),
            best=self.best,
            highest=self.highest,
            notes=notes,
        )

    def rank(
        self,
        models: Mapping[str, Any],
        loaded: Loaded,
        protocol: Protocol,
        settings: Settings,
        listen: Callable[[Progress], None] | None = None,
    ) -> Ranked:
        """Measure the lists that models recommend, beside what is popular; the parameters are those of `evaluate`."""
        self._cannot("recommend")

    def _cannot(self, ability: Ability) -> NoReturn:
        having = [one for one in ABILITIES if self.can(one)]
        advice = f"they can {', '.join(having)}" if having else ""
        raise InvalidInputError(f"{self.name} cannot {ability.replace('_', ' ')}", advice=advice)


def _passing_on(listen: Callable[[Progress], None], now: Progress) -> Listener:
    return lambda inner: listen(replace(now, inner=inner))
