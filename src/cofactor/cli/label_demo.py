"""``cofactor demo labels``: every label method against binary relevance, in a minute or two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.cli.datasets import warn_of_data_variable
from cofactor.cli.stage import Stage, Tale, escape

if TYPE_CHECKING:
    from cofactor.cli.label_showcase import Fitted, LabelRow, LabelTable

PROTOCOL = (
    "Figures are {folds}. Parameters and thresholds are chosen on a fifth of each training part for micro-F1; the test "
    "parts choose nothing. Dense features are standardised (from 0 to 1 for MNMTF), sparse ones left as they are. "
    "Seconds are those of one fit with the parameters chosen. Macro-F1 counts labels without any instance as 0."
)
PUBLISHED_NOTE = (
    "Published, below each method: Kumar's thesis, tables 5.9 and 5.10 (ten folds; BSVM beside binary relevance) and "
    "6.2 (five folds), for the same data but other folds."
)
OMF_NOTE = (
    "OMF's .896 on medical, table 2 of its paper, cannot be reached: even a threshold chosen on the test part does not "
    "come near it."
)
LEARNED_NOTE = (
    "The threshold is one cut for all labels, learned on held-out training instances. It changes the measures more "
    "than the choice of the method does, so these figures must not be compared with those of a plain cut."
)
#: Which data set a picture is made of, the first of these that is there.
_GROUPED = ("cal500", "medical")
_DESCRIBED = ("emotions",)
#: Methods of the picture of thresholds, beside the best one.
_CURVES = ("OMF", "GroPLE", "MLkNN", "BinaryRelevance")
_N_INSTANCES = 5
_N_GROUPS = 5
_SPARSE = 40.0  #: weight of the rows of V, with which about half of them are zero on cal500


@dataclass
class Example:
    """Predictions for some instances of a test part."""

    data: str = ""
    model: str = ""
    instances: list[dict[str, Any]] = field(default_factory=list)
    text: str = ""
    html: str = ""


@dataclass
class LabelStory(Tale):
    """What the demo of labels found out."""

    tables: list[LabelTable] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    example: Example = field(default_factory=Example)


class LabelDemo(Stage):
    """One run: does each step and tells about it."""

    def __init__(self, story: LabelStory, quiet: bool) -> None:
        super().__init__(story, quiet)
        self.story = story

    def run(self, folder: Path) -> LabelStory:
        """Do everything; leave the report in the folder."""
        from cofactor.cli import label_showcase
        from cofactor.kernels.threads import library_limit

        story = self.story
        warn_of_data_variable()
        sets, story.missing = label_showcase.load_sets(story.seed, story.quick)
        if sets[0].name == "synthetic":
            self.console.print(f"[yellow]Synthetic labels instead:[/yellow] {escape(story.missing[0])}")
        fitted: dict[str, Fitted] = {}
        # The matrices are small: several threads of BLAS would wait for each other most of the time.
        with library_limit(1, "blas"):
            for k, data in enumerate(sets, 1):
                self.heading(f"{k}  {data.name}")
                self.console.print(f"{escape(data.description)}.")
                with self.counting(label_showcase.n_steps(story.quick)):
                    table, fitted[data.name] = label_showcase.compete(data, story.seed, story.quick, self.say)
                story.tables.append(table)
                self._show(table)
            for text in ("* The best of its column.", *notes(story)):
                self.console.print(f"[dim]{escape(text)}[/dim]")
            self.heading(f"{len(sets) + 1}  Predictions, pictures, report")
            self._predict(fitted)
            with self.workplace(folder) as place:
                if self.can_draw():
                    self._draw(place, fitted)
                self._finish(place, folder)
        self.what_next(folder)
        return story

    def _predict(self, fitted: dict[str, Fitted]) -> None:
        from cofactor.cli.label_showcase import best_row, predictions

        f = fitted[_first(_DESCRIBED, fitted)]
        table = next(table for table in self.story.tables if table.name == f.data.name)
        self.story.example = predictions(f, best_row(table).name, _N_INSTANCES)
        example = self.story.example
        self.console.print(f"{example.data}, five instances of the test part, by {example.model}:")
        self.console.print(escape(example.text))
        self.console.print("[dim]✓ found  ✗ wrong  – missed[/dim]")

    # ---------------------------------------------------------------- pictures

    def _draw(self, place: Path, fitted: dict[str, Fitted]) -> None:
        from cofactor.cli import label_showcase
        from cofactor.plots import plot_label_tree, plot_threshold_curves, save_figure

        pictures = self.story.pictures
        grouped, described = fitted[_first(_GROUPED, fitted)], fitted[_first(_DESCRIBED, fitted)]
        name = grouped.data.name
        if "GroPLE" in grouped.selections:
            self._draw_groups(place, grouped)
        table = next(table for table in self.story.tables if table.name == name)
        best = label_showcase.best_row(table, "learned").name
        shown = [one for one in dict.fromkeys((best, *_CURVES)) if one in grouped.selections]
        curves, cuts = label_showcase.threshold_curves(grouped, shown)
        save_figure(plot_threshold_curves(curves, cuts, title=f"{name}, test part"), place / "thresholds.png")
        pictures["thresholds.png"] = (
            f"Micro-F1 on the test part of {name} along the cut of the scores, for the best method and some others; "
            "the marks are the cuts which were learned on training instances."
        )
        if "MLCHMF" in described.selections:
            tree = described.model("MLCHMF").tree_
            save_figure(plot_label_tree(tree, title=f"MLC-HMF, {described.data.name}"), place / "tree.png")
            pictures["tree.png"] = (
                "The tree of MLC-HMF: each node keeps the instances whose labels its embedding gets right, the others "
                "are split among its children."
            )

    def _draw_groups(self, place: Path, f: Fitted) -> None:
        from cofactor.cli import label_showcase
        from cofactor.plots import plot_cooccurrence, plot_group_sparsity, save_figure
        from cofactor.plots.figures import new_panels

        pictures, name = self.story.pictures, f.data.name
        model = f.model("GroPLE")
        before, after = new_panels(2, width=13)
        plot_cooccurrence(f.data.Y, ax=before, names=f.data.label_names, title="as they come")
        plot_cooccurrence(f.data.Y, model.groups_, ax=after, names=f.data.label_names, title="by group")
        save_figure(before, place / "labels.png")
        pictures["labels.png"] = (
            f"How much labels of {name} occur together, as they come and sorted by the groups which GroPLE found: "
            "those of a group stand within a frame."
        )
        sparse = label_showcase.grouped_factors(f, _N_GROUPS, _SPARSE)
        title = f"{name}, {_N_GROUPS} groups, λ₂ = {_SPARSE:g}"
        picture = plot_group_sparsity(sparse.V_, sparse.groups_, title=title)
        save_figure(picture, place / "sparsity.png")
        pictures["sparsity.png"] = (
            "Which labels use which latent factor of GroPLE, as figure 6.1 of the thesis: where a row is blank, the "
            "group does without that factor. Fitted for this picture with five groups and a large weight of the rows."
        )

    def _finish(self, place: Path, folder: Path) -> None:
        from cofactor.cli import label_report

        self.story.next_steps = next_steps(self.story)
        self.finish(place, folder, lambda place: label_report.write(self.story, place))

    # ---------------------------------------------------------------- the terminal

    def _show(self, table: LabelTable) -> None:
        self.console.print("\nPlain cut at 0")
        self.console.print(_table(table, "plain"))
        self.console.print("Learned threshold")
        self.console.print(_table(table, "learned"))


def _first(wanted: Sequence[str], there: dict[str, Any]) -> str:
    return next((name for name in wanted if name in there), next(iter(there)))


def _table(table: LabelTable, kind: str) -> Any:
    from rich import box
    from rich.table import Table

    from cofactor.cli.label_showcase import METRICS

    shown = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column("", no_wrap=True)
    for heading in (*METRICS.values(), "seconds"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for row, cells in zip(table.rows, value_cells(table, kind), strict=True):
        # The star is for pipes and files, where nothing is bold.
        texts = [f"[bold]{text}*[/bold]" if best else f"{text} " for text, best in cells]
        shown.add_row(row.name, *texts, f"{row.seconds:.2f}")
        if kind == "plain" and row.published is not None:
            shown.add_row("  published", *(f"{text} " for text in published_cells(row)), "", style="dim")
    return shown


def value_cells(table: LabelTable, kind: str) -> list[list[tuple[str, bool]]]:
    """Return the measures of each row as tables show them, each with whether it is the best, if they differ."""
    best = table.best(kind)
    differ = {key: len({round(getattr(row, kind)[key], 3) for row in table.rows}) > 1 for key in best}
    return [
        [(f"{value:.3f}", differ[key] and round(value, 3) == best[key]) for key, value in getattr(row, kind).items()]
        for row in table.rows
    ]


def published_cells(row: LabelRow) -> list[str]:
    """Return the published figures as tables show them."""
    return ["" if value is None else f"{value:.3f}" for value in row.published or ()]


def notes(story: LabelStory) -> list[str]:
    """Return what must be known to read the tables."""
    folds = "means over five folds" if story.tables[0].folds > 1 else "those of the first of five folds"
    published = [(table.name, row.name) for table in story.tables for row in table.rows if row.published]
    texts = [PROTOCOL.format(folds=folds), LEARNED_NOTE]
    texts += [PUBLISHED_NOTE] if published else []
    texts += [OMF_NOTE] if ("medical", "OMF") in published else []
    return texts


def next_steps(story: LabelStory) -> list[tuple[str, str]]:
    """Return three commands, each with what it does."""
    name = story.tables[0].name
    source, option = ("tags.csv", " --labels tag_") if name == "synthetic" else (name, "")
    features = "new.csv" if name == "synthetic" else name
    return [
        (
            f"cofactor fit {source}{option} --threshold global --out tags.cofactor",
            "learn labels, or your own: ARFF, libsvm, MATLAB, or a table with --labels",
        ),
        (f"cofactor predict tags.cofactor {features} --top 3", "the three likeliest labels of each instance"),
        (f"cofactor evaluate {source}{option} -m plst -m binary-relevance", "measure by cross-validation"),
    ]


def as_plain(story: LabelStory) -> dict[str, Any]:
    """Return the story as plain values."""
    return asdict(story)
