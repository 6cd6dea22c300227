"""Label models against published figures, asked-for times, and other libraries.

    python benchmarks/labels.py accuracy [data ...]   k-fold, parameters and thresholds chosen in the training folds
    python benchmarks/labels.py features [data ...]   MNMTF before ML-kNN, on the public split of Yahoo's directory
    python benchmarks/labels.py speed [part ...]      fits, predictions and streaming: fits, predict, stream
    python benchmarks/labels.py ridge [data ...]      LabelRidge at its defaults, on 22 sets
    python benchmarks/labels.py peers [data ...]      other libraries on the same split in the same run

Tables go into docs/benchmarks, in a section for each data set or part; `features` named with data only prints its rows.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from common import publish, table
from label_ridge import ridge_table
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from cofactor import published
from cofactor.datasets import LabelChunks, load_labels, write_chunks
from cofactor.evaluation import Search, evaluate_labels, fold_means
from cofactor.labels import MODELS, PLST, BinaryRelevance
from cofactor.labels.adaptation.neighbours import MLkNN
from cofactor.labels.embedding.grople import GroPLE
from cofactor.labels.embedding.mlchmf import MLCHMF
from cofactor.labels.embedding.omf import OMF
from cofactor.labels.reduction.mnmtf import MNMTF
from cofactor.metrics import label_report
from cofactor.text import without_zero

SEED = 0
RULES = ("plain", "global", "top-k")
MEASURES = ("micro_f1", "accuracy", "example_f1", "macro_f1", "hamming", "subset_accuracy")

#: Kumar's thesis, chapters 5 and 6, and the paper of OMF.
TABLES = ("thesis-5.9", "thesis-5.10", "thesis-6.2", "omf-2")
WORDS = {"micro_f1": "micro-F1", "hamming": "Hamming", "accuracy": "accuracy", "example_f1": "example F1"}

# ---------------------------------------------------------------- accuracy against the published figures


@dataclass(frozen=True)
class Case:
    """A row of the table: what is published, what was asked for, and the grid searched inside each training fold."""

    data: str
    folds: int
    method: str
    published: tuple[str, ...]
    asked: dict[str, float]
    model: Any
    grid: dict[str, list]
    prediction_grid: dict[str, list] = field(default_factory=dict)
    metric: str = "micro_f1"
    validation: Any = 3
    rules: tuple[str, ...] = RULES

    def published_text(self) -> str:
        method = self.method.replace("-", "")
        found = {name: published.value(TABLES, method, name, data=self.data) for name in self.published}
        return ", ".join(f"{WORDS[name]} {without_zero(value)}" for name, value in found.items())

    def selection(self) -> Search:
        return Search(
            self.model,
            self.grid,
            metric=self.metric,
            prediction_grid=self.prediction_grid,
            thresholds=self.rules,
            validation=self.validation,
            random_state=SEED,
        )


def mlchmf(scale: str = "none") -> MLCHMF:
    return MLCHMF.paper(scale=scale, random_state=SEED)


def grople() -> GroPLE:
    return GroPLE.paper(alpha_u=0.1, random_state=SEED)


def omf(s: int) -> OMF:
    return OMF.paper(n_components=s, solver="als", random_state=SEED)


GROPLE = {"alpha_v": [1.0, 3.0, 10.0], "alpha_r": [0.0, 1.0, 10.0], "alpha_z": [0.1, 0.3, 1.0]}
GROPLE_LARGE = {"alpha_v": [1.0, 10.0], "alpha_r": [0.0, 1.0], "alpha_z": [0.1, 1.0]}
GROPLE_CAL500 = {f"grople__{name}": values for name, values in {**GROPLE, "alpha_z": [0.3, 1.0, 3.0, 10.0]}.items()}
OMF_GRID = {"normalize": [True, False], "label_weight": [0.1, 0.5, 0.9, 0.99], "alpha": [0.01, 0.1, 1.0]}
OMF_LARGE = {"label_weight": [0.5, 0.9, 0.99], "alpha": [0.1, 1.0]}
XI = {"alpha_predict": [0.01, 0.1, 1.0, 10.0, 100.0]}
TEXT_HMF = {"alpha": [0.3, 1.0, 3.0], "tolerance": [0.0, 0.04]}

CASES = (
    Case(
        "emotions", 10, "MLC-HMF", ("micro_f1", "hamming"), {"micro_f1": 0.675, "hamming": 0.196},
        mlchmf("standard"), {"alpha": [5.0, 10.0, 20.0, 50.0, 100.0], "tolerance": [0.0, 0.17]}, metric="hamming",
    ),
    Case(
        "genbase", 10, "MLC-HMF", ("micro_f1", "accuracy"), {"micro_f1": 0.985, "accuracy": 0.985},
        mlchmf(), TEXT_HMF, validation=0.2,
    ),
    Case(
        "medical", 10, "MLC-HMF", ("micro_f1",), {"micro_f1": 0.780}, mlchmf(), TEXT_HMF, validation=0.2,
    ),
    Case("genbase", 5, "GroPLE", ("accuracy",), {"accuracy": 0.980}, grople(), GROPLE, metric="accuracy"),
    Case(
        "medical", 5, "GroPLE", ("accuracy", "micro_f1"), {"accuracy": 0.765, "micro_f1": 0.815},
        grople(), GROPLE,
    ),
    Case(
        "cal500", 5, "GroPLE", ("example_f1", "micro_f1"), {"example_f1": 0.450, "micro_f1": 0.450},
        make_pipeline(StandardScaler(), grople()), GROPLE_CAL500,
    ),
    Case(
        "corel5k", 5, "GroPLE", ("micro_f1",), {"micro_f1": 0.242}, grople(), GROPLE_LARGE, validation=0.2,
    ),
    Case(
        "corel5k", 5, "OMF", ("micro_f1",), {"micro_f1": 0.268}, omf(40), OMF_LARGE, XI, validation=0.2,
    ),
    Case(
        "bibtex", 5, "GroPLE", ("micro_f1",), {"micro_f1": 0.430}, grople(), GROPLE_LARGE, validation=0.2,
    ),
    Case(
        "bibtex", 5, "OMF", ("micro_f1",), {"micro_f1": 0.460}, omf(140), OMF_LARGE, XI, validation=0.2,
    ),
    Case("scene", 5, "OMF", ("micro_f1",), {"micro_f1": 0.670}, omf(10), OMF_GRID, XI, validation=0.2),
    Case("medical", 5, "OMF", ("micro_f1",), {"micro_f1": 0.785}, omf(70), OMF_GRID, XI, validation=0.2),
)  # fmt: skip


def accuracy(chosen: list[str]) -> None:
    for name in dict.fromkeys(case.data for case in CASES):
        if chosen and name not in chosen:
            continue
        data, rows = load_labels(name), []
        for case in (case for case in CASES if case.data == name):
            folds = evaluate_labels(case.selection(), data.X, data.Y, case.folds, random_state=SEED, ranking=False)
            for decoding, means in fold_means(folds).items():
                rows.append(accuracy_row(case, decoding, means, [f for f in folds if f["decoding"] == decoding]))
                print(rows[-1], flush=True)
        header = ["data (folds)", "method", "published", "asked", "threshold", *MEASURES, "s per fold", "chosen"]
        publish(f"label accuracy, {name}", table(header, rows))


def accuracy_row(case: Case, decoding: str, means: dict, folds: list[dict]) -> list[str]:
    def reached(name: str) -> bool:
        return means[name][0] <= case.asked[name] if name == "hamming" else means[name][0] >= case.asked[name]

    asked = ", ".join(
        f"{name} {'≤' if name == 'hamming' else '≥'} {limit:.3f} {'✓' if reached(name) else '✗'}"
        for name, limit in case.asked.items()
    )
    choices = [", ".join(f"{k.split('__')[-1]} {v}" for k, v in fold["parameters"].items()) for fold in folds]
    return [
        f"{case.data} ({case.folds})",
        case.method,
        case.published_text(),
        asked,
        decoding,
        *(f"{means[name][0]:.3f} ± {means[name][1]:.3f}" for name in MEASURES),
        f"{means['fit_seconds'][0]:.1f}",
        max(choices, key=choices.count),
    ]


# ---------------------------------------------------------------- features for ML-kNN


def features(chosen: list[str]) -> None:
    rows = []
    for name in ("arts", "computers"):
        if chosen and name not in chosen:
            continue
        train, test = load_labels(f"yahoo-{name}").split()
        models = {"original features": MLkNN.paper()}
        for rule in ("scale-invariant", "printed"):
            models |= {
                f"MNMTF, {rule}, {words}": make_pipeline(MNMTF(J, rule=rule, random_state=SEED), MLkNN.paper())
                for words, J in (("J = 0.3 D", 0.3), ("J = number of labels", None))
            }
        for words, model in models.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # 200 updates are the paper's
                began = time.perf_counter()
                model.fit(train.X, train.Y)
                seconds = time.perf_counter() - began
                report = label_report(test.Y, model.predict(test.X), model.decision_function(test.X))
            measures = ("average_precision", "hamming", "one_error", "coverage")
            rows.append([name, words, *(f"{report[m]:.4f}" for m in measures), f"{seconds:.1f}"])
            print(rows[-1], flush=True)
    header = ["data", "features", "average precision", "Hamming", "one-error", "coverage", "s"]
    asked = "Asked: better than the original features in average precision and Hamming (plain implementation: "
    asked += ".520 > .514 and .638 > .628).\n\n"
    print_or_publish("label features", asked + table(header, rows), chosen)


# ---------------------------------------------------------------- speed and memory


def speed(chosen: list[str]) -> None:
    parts: dict[str, Callable[[], str]] = {"fits": fits, "predict": predictions, "stream": stream}
    for name, part in parts.items():
        if not chosen or name in chosen:
            publish(f"label speed: {name}", part())


def fits() -> str:
    rows = []
    for words, asked, data, model in (
        ("GroPLE, d = 100", 1, "medical", grople()),
        ("GroPLE, d = 100", 6, "bibtex", grople()),
        ("GroPLE, d = 100", 20, "delicious", grople()),
        ("OMF (als), s = 140, to relative change 1e-4", 8, "bibtex", omf(140)),
        ("OMF (sgd), s = 140, one epoch", 3, "bibtex", omf(140).set_params(solver="sgd", max_iter=1)),
        ("MLC-HMF, the paper's settings, one fold of ten", 5, "medical", mlchmf().set_params(n_jobs=-1)),
    ):
        X, Y = training_part(data)
        rows.append([words, f"{data}, {X.shape[0]:,} × {X.shape[1]:,}", asked, f"{warm_seconds(model, X, Y):.2f}"])
        print(rows[-1], flush=True)
    return table(["fit", "data", "asked, s", "s"], rows)


def training_part(data: str) -> tuple[Any, Any]:
    """Return the official training rows, or those of one fold of ten."""
    loaded = load_labels(data)
    if loaded.train_rows is None or data == "medical":
        train, _ = next(KFold(10, shuffle=True, random_state=SEED).split(loaded.Y))
        return loaded.X[train], loaded.Y[train]
    return loaded.X[loaded.train_rows], loaded.Y[loaded.train_rows]


def warm_seconds(model: Any, X: Any, Y: Any, runs: int = 3) -> float:
    """Return the median time of a fit, after one on a few rows has compiled what there is to compile."""
    seconds = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[:200], Y[:200])
        for _ in range(runs):
            began = time.perf_counter()
            model.fit(X, Y)
            seconds.append(time.perf_counter() - began)
    return float(np.median(seconds))


def predictions() -> str:
    """Predictions of every registered model for the test rows of delicious."""
    train, test = load_labels("delicious").split()
    quick = {
        "BinaryRelevance": {"estimator": Ridge(10.0)},
        "MLCHMF": {"n_components": 50, "max_iter": 10},
        "OMF": {"max_iter": 5},
        "LEML": {"max_iter": 3},
    }
    rows = []
    for name, kind in MODELS.items():
        model = kind().set_params(**quick.get(name, {}), random_state=SEED)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the fit does not matter here
            began = time.perf_counter()
            model.fit(train.X, train.Y)
            fit = time.perf_counter() - began
        model.predict(test.X[:10])
        began = time.perf_counter()
        model.predict(test.X)
        rows.append([name, 1, f"{time.perf_counter() - began:.2f}", f"{fit:.1f}", quick.get(name, "defaults")])
        print(rows[-1], flush=True)
    return table(["model", "asked, s", "predict 3,185 rows, s", "fit, s", "settings (for speed of the fit)"], rows)


def stream(n_rows: int = 2_000_000) -> str:
    """Train OMF on a file larger than the memory it may use, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        write_chunks(path, synthetic_chunks(n_rows))
        megabytes = path.stat().st_size / 2**20
        command = [sys.executable, __file__, "--stream", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    quarters = [f"{1e6 * np.mean(part):.1f}" for part in np.array_split(found["seconds_per_row"], 4)]
    rows = [
        ["peak memory, MB", "≤ 500", f"{found['peak']:.0f} (package imported, kernels loaded: {found['before']:.0f})"],
        ["μs per row, by quarters of the file", "constant", ", ".join(quarters)],
        ["s, reading included", "–", f"{found['seconds']:.1f}"],
        ["micro-F1 on 10,000 further rows (plain cut)", "–", f"{found['micro_f1']:.3f}"],
    ]
    head = (
        f"OMF.partial_fit over {n_rows:,} rows of 500 sparse features and 20 labels, {megabytes:.0f} MB of Parquet.\n\n"
    )
    return head + table(["", "asked", "measured"], rows)


def synthetic_chunks(n_rows: int, chunk: int = 20_000, seed: int = SEED) -> Iterator[tuple[Any, Any]]:
    """Yield rows with 20 of 500 features each, and the labels of 20 linear rules that these obey."""
    truth = np.random.default_rng(12345).normal(size=(500, 20))
    rng = np.random.default_rng(seed)
    for start in range(0, n_rows, chunk):
        n = min(chunk, n_rows - start)
        columns = rng.integers(500, size=(n, 20))
        X = sparse.csr_array((rng.random(20 * n, dtype=np.float32), columns.ravel(), 20 * np.arange(n + 1)), (n, 500))
        X.sum_duplicates()
        yield X, sparse.csr_array((X @ truth > 2.5).astype(np.int8))


def streamed(path: str) -> None:
    """Train on a file of chunks and print what it took, as JSON."""
    model = OMF.paper(n_components=20, solver="als", random_state=SEED)
    X, Y = next(synthetic_chunks(1000))
    model.partial_fit(X, Y)  # loads the kernels
    before = peak_megabytes()
    model = OMF.paper(n_components=20, label_weight=0.9, alpha=0.1, alpha_predict=0.1, solver="als", random_state=SEED)
    chunks = LabelChunks(path, 20_000)
    began, per_row = time.perf_counter(), []
    for X, Y in chunks:
        started = time.perf_counter()
        model.partial_fit(X, Y, n_rows=chunks.n_rows)
        per_row.append((time.perf_counter() - started) / X.shape[0])
    seconds, peak = time.perf_counter() - began, peak_megabytes()
    X, Y = next(synthetic_chunks(10_000, seed=SEED + 1))
    found = {"before": before, "peak": peak, "seconds": seconds, "seconds_per_row": per_row}
    print(json.dumps(found | {"micro_f1": model.score(X, Y)}))


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# ---------------------------------------------------------------- other libraries

PEERS = {
    "LibMultiLabel one-vs-rest": "1vsrest",
    "LibMultiLabel cost-sensitive micro": "cost_sensitive_micro",
    "scikit-multilearn-ng ML-kNN": "mlknn",
    "scikit-multilearn-ng RAkEL + LinearSVC": "rakel",
}
#: A peer that takes longer than this is stopped.
PEER_SECONDS = 1800
PEER_DATA = ("emotions", "medical", "cal500", "corel5k", "bibtex", "delicious")
HOW_TO_INSTALL = """no environment with the other libraries: they need older ones than cofactor, so give them their own,
    python -m venv peers && peers/bin/pip install libmultilabel scikit-multilearn-ng
and say where it is:
    COFACTOR_PEERS=peers/bin/python python benchmarks/labels.py peers"""


def peers(chosen: list[str]) -> None:
    python = os.environ.get("COFACTOR_PEERS", "")
    if not Path(python).is_file():
        print(HOW_TO_INSTALL, "\nWithout them, scikit-learn and cofactor only.\n", flush=True)
        python = ""
    for data in PEER_DATA:
        if not chosen or data in chosen:
            header = ["data", "method", "micro-F1", "macro-F1", "example F1", "accuracy", "Hamming", "s"]
            publish(f"label peers, {data}", table(header, peer_rows(data, python)))


def peer_rows(data: str, python: str) -> list[list[str]]:
    X, Y, T, truth = peer_split(data)
    rows = []

    def add(words: str, predicted: Any, seconds: float) -> None:
        report = label_report(truth, predicted)
        measures = ("micro_f1", "macro_f1", "example_f1", "accuracy", "hamming")
        rows.append([data, words, *(f"{report[m]:.3f}" for m in measures[:-1]), f"{report['hamming']:.4f}"])
        rows[-1].append(f"{seconds:.2f}")
        print(rows[-1], flush=True)

    for words, model in {**ours(data), "scikit-learn OneVsRest + LinearSVC": OneVsRestClassifier(LinearSVC())}.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "Label not .* is present in all", UserWarning)
            began = time.process_time()
            # Labels of one byte are too small for scikit-learn's OneVsRest: wrong predictions beyond 127 labels.
            model.fit(X, Y.astype(int).toarray() if isinstance(model, OneVsRestClassifier) else Y)
            seconds = time.process_time() - began
        add(words, model.predict(T), seconds)
    for words, method in PEERS.items() if python else ():
        try:
            found = peer(python, method, X, Y, T)
        except subprocess.TimeoutExpired:
            rows.append([data, words, *["–"] * 5, f"more than {PEER_SECONDS}"])
            print(rows[-1], flush=True)
            continue
        if found is not None:
            add(words, found[0], found[1]["fit"])
    return rows


def ours(data: str) -> dict[str, Any]:
    """Return models whose parameters and threshold are chosen within the fit."""
    rules = ("global", "top-k")
    ridge = {"alpha": [0.1, 1.0, 10.0] if data not in ("emotions", "cal500") else [10.0, 100.0, 1000.0]}
    s = {"emotions": 6, "medical": 70, "cal500": 50, "corel5k": 40}.get(data, 140)
    return {
        "BinaryRelevance(Ridge)": Search(
            BinaryRelevance.paper(estimator=Ridge()), {"estimator__alpha": ridge["alpha"]}, thresholds=rules
        ),
        "PLST": Search(PLST.paper(), {**ridge, "n_components": [0.2, 0.5]}, thresholds=rules),
        "OMF": Search(omf(s), {"label_weight": [0.5, 0.9]}, prediction_grid=XI, thresholds=rules),
        "GroPLE": Search(grople(), {"alpha_z": [0.1, 1.0]}, thresholds=rules),
    }


def peer_split(data: str) -> tuple[Any, Any, Any, Any]:
    """Return training and test parts, scaled by the training part."""
    loaded = load_labels(data)
    train, test = next(KFold(5, shuffle=True, random_state=SEED).split(loaded.Y))
    scaler = Normalizer() if sparse.issparse(loaded.X) else StandardScaler()
    X = scaler.fit_transform(loaded.X[train])
    return X, loaded.Y[train], scaler.transform(loaded.X[test]), loaded.Y[test]


def peer(python: str, method: str, X: Any, Y: Any, T: Any, **more: Any) -> tuple[Any, dict[str, float]] | None:
    """Return predictions and seconds of another library in its own environment; None, with a message, if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        for name, part in {"X": X, "Y": Y, "T": T, **more}.items():
            sparse.save_npz(Path(folder, name), sparse.csr_matrix(part))
        script = str(Path(__file__).with_name("label_peers.py"))
        done = subprocess.run([python, script, method, folder], capture_output=True, text=True, timeout=PEER_SECONDS)
        if done.returncode:
            print(f"{method} failed: {done.stderr.strip().splitlines()[-1:]}", flush=True)
            return None
        return sparse.load_npz(Path(folder, "predicted.npz")), json.loads(done.stdout.splitlines()[-1])


# ---------------------------------------------------------------- LabelRidge


def ridge(chosen: list[str]) -> None:
    print_or_publish("label ridge", ridge_table(chosen), chosen)


# ---------------------------------------------------------------- the command line


def print_or_publish(section: str, text: str, chosen: list[str]) -> None:
    """Put a whole table into docs/benchmarks; only print a part of one."""
    print(f"\n{text}\n") if chosen else publish(section, text)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--stream"]:
        streamed(sys.argv[2])
    else:
        sections = {"accuracy": accuracy, "features": features, "speed": speed, "peers": peers, "ridge": ridge}
        if sys.argv[1:2] and sys.argv[1] not in sections:
            raise SystemExit(f"{sys.argv[1]!r} is none of {', '.join(sections)}")
        for name in sys.argv[1:2] or sections:
            sections[name](sys.argv[2:])
