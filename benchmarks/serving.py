"""Models behind HTTP, on ML-1M: requests in a second, how late answers are, and ten minutes of trouble.

python benchmarks/serving.py figures FOLDER            requests a second and p99 of three models, new users, tags
python benchmarks/serving.py start FOLDER              seconds to ready, memory of each process
python benchmarks/serving.py endure FOLDER [MINUTES]   80 % of what it can, while files change and processes die
python benchmarks/serving.py equal FOLDER [REQUESTS]   random requests, each answer compared with the library's

FOLDER holds the models; those that are not there are fitted first, which takes some minutes. Capacity is measured by
wrk (https://github.com/wg/wrk) where it is installed, else by clients of our own, which take more of the two cores.
"""

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import ml1m, publish, table
from scipy.sparse import csr_array
from server_equal import OfLabels, OfRatings, compare
from under_load import Endured, Load, Ordeal, Question, Serving, known_users, new_users

import cofactor
from cofactor.datasets import load_labels
from cofactor.lazy import gc_disabled
from cofactor.ratings import MMMF, OrdinalProbit, Recommender

MODELS: dict[str, tuple[Callable[[int], Any], int]] = {  # and requests a second that were asked for
    "Recommender": (lambda seed: Recommender(random_state=seed), 250),
    "OrdinalProbit": (lambda seed: OrdinalProbit(random_state=seed), 250),
    "MMMF": (lambda seed: MMMF(alpha=12.0, random_state=seed), 1500),
}
SECONDS = 15.0
SHARES = {"Recommender": 0.25, "OrdinalProbit": 0.2, "MMMF": 0.3, "of labels": 0.25}  #: of random requests


def fitted(folder: Path, name: str, seed: int = 0) -> Path:
    """Return the file of a model; fit it if it is not there."""
    file = folder / f"{name}-{seed}.cofactor"
    if not file.exists():
        print(f"fitting {name}, seed {seed}", flush=True)
        MODELS[name][0](seed).fit(*ml1m()).save(file)
    return file


def wrk(port: int, questions: Sequence[Question], n_lines: int = 16) -> float | None:
    """Return requests per second as wrk measures them; None where it is not installed."""
    if shutil.which("wrk") is None:
        return None
    asked = [question.content.partition(b"\r\n\r\n") for question in questions]
    formats = [
        f"wrk.format([[{head.split()[0].decode()}]], [[{head.split()[1].decode()}]], nil, [==[{body.decode()}]==])"
        for head, _, body in asked
    ]
    lines = "local all, k = {}, 0\ninit = function()\n"
    lines += "".join(f"  all[{k}] = {one}\n" for k, one in enumerate(formats, 1))
    lines += "end\nrequest = function() k = k % #all + 1 return all[k] end\n"
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(lines)
        script.flush()
        command = ["wrk", "-t1", f"-c{n_lines}", f"-d{SECONDS:.0f}s", "-s", script.name, f"http://localhost:{port}"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in said:
        raise RuntimeError(said)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])


def capacity(port: int, questions: Sequence[Question]) -> float:
    """Return requests per second, by wrk where it is installed."""
    asyncio.run(Load(port, questions).closed(2.0))
    return wrk(port, questions) or asyncio.run(Load(port, questions).closed(SECONDS))


def late(port: int, questions: Sequence[Question], rate: float) -> tuple[float, float]:
    """Return the median and the 99 % quantile of milliseconds at a rate; refuse answers that are not the library's."""
    asyncio.run(Load(port, questions).at_rate(rate, 2.0))  # what a closed connection had asked is answered meanwhile
    load = Load(port, questions)
    with gc_disabled():  # the library's models lie here too; a search would go through all that they hold
        asyncio.run(load.at_rate(rate, SECONDS))
    found = load.found
    if found.wrong or found.lost or set(found.statuses) != {200}:
        raise RuntimeError(f"{found.wrong} wrong, {len(found.lost)} lost, {found.statuses}")
    return found.late(0.5), found.late()


def figures(folder: Path) -> None:
    rows = []
    for name, (_, asked) in MODELS.items():
        file = fitted(folder, name)
        model = cofactor.load(file)
        known, new = known_users({"a": model}, 500), new_users({"a": model}, 200)
        with Serving.started(str(file)) as serving:
            most = capacity(serving.port, known)
            rate = min(most, asked) / 2
            half = late(serving.port, known, rate)
            many = capacity(serving.port, new)
            new_late = late(serving.port, new, min(many / 2, 50))
        cells = [f"{milliseconds:.1f}" for milliseconds in (*half, *new_late)]
        rows.append([name, f"{most:,.0f}", f"{asked:,}", f"{rate:.0f}", *cells[:2], f"{many:,.0f}", *cells[2:]])
        print(rows[-1], flush=True)
    head = ["model", "requests/s", "asked", "at a rate of", "median ms", "p99 (asked: 20)", "new users/s", "median ms"]
    text = (
        "One process answers, on the same two cores as its clients. Ten recommendations for a user who was in "
        "training, over 16 connections; then at half the rate that was asked for, or that it can. New users with 20 "
        f"ratings each likewise, at 50 a second or half of what it can. {SECONDS:.0f} s each. Every answer at a rate "
        "is compared with the library's.\n\n" + table([*head, "p99 (asked: 40)"], rows)
    )
    publish("requests a second", f"{text}\n\n{tags(folder)}")


def of_labels(folder: Path) -> Path:
    """Return the file of a model of labels; fit it if it is not there."""
    file = folder / "medical.cofactor"
    if not file.exists():
        subprocess.run([sys.executable, "-m", "cofactor", "fit", "medical", "--out", str(file)], check=True)
    return file


def tags(folder: Path) -> str:
    """Return what the labels of a medical report cost."""
    file = of_labels(folder)
    data = load_labels("medical")
    X = csr_array(data.X)
    questions = []
    for row in range(0, X.shape[0], 4):
        there = slice(X.indptr[row], X.indptr[row + 1])
        named = {data.feature_names[j]: float(v) for j, v in zip(X.indices[there], X.data[there], strict=True)}
        questions.append(Question.of("POST", "/v1/tags", {"rows": [named]}))
    with Serving.started(str(file)) as serving:
        most = capacity(serving.port, questions)
        half, ninety_nine = late(serving.port, questions, 300)
    return (
        f"Labels of one medical report ({X.shape[1]:,} features, those that are not 0 by name): {most:,.0f} requests a "
        f"second (asked: 1,000); at 300 a second the median is {half:.1f} ms and p99 {ninety_nine:.1f} ms (asked: 15)."
    )


def start(folder: Path) -> None:
    rows = []
    for name in MODELS:
        file = fitted(folder, name)
        known = known_users({"a": cofactor.load(file)}, 100)
        for n_workers in (1, 2, 4):
            began = time.perf_counter()
            with Serving.started(str(file), "--workers", str(n_workers)) as serving:
                seconds = time.perf_counter() - began
                asyncio.run(Load(serving.port, known).closed(5.0))
                own = [one.memory_full_info().uss / 1e6 for one in serving.workers()]
                rows.append([name, n_workers, f"{seconds:.1f}", f"{max(own):.0f}", f"{serving.memory():.0f}"])
    head = ["model", "processes", "seconds to ready (asked: 5)", "MB of one alone (asked: 150)", "MB of all"]
    text = (
        "From the start of the command to an open port, kernels having been compiled before. Then memory after five "
        "seconds of requests: what only the largest of the processes that answer has (USS), and all of them with the "
        "one that watches over them (PSS)."
    )
    publish("start of a server", f"{text}\n\n{table(head, rows)}")


def endure(folder: Path, minutes: float = 10, name: str = "MMMF") -> None:
    versions = {version: fitted(folder, name, seed) for seed, version in enumerate("ab")}
    models = {version: cofactor.load(file) for version, file in versions.items()}
    questions = [*known_users(models, 400), *new_users(models, 100)]
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "served.cofactor")
        shutil.copy(versions["a"], file)
        with Serving.started(str(file), "--workers", "2") as serving:
            ordeal = Ordeal(serving, file, versions, questions)
            most = asyncio.run(ordeal.load.closed(10.0))
            ordeal.load.found = type(ordeal.load.found)()
            endured = asyncio.run(ordeal.endure(0.8 * most, 60 * minutes))
    text = (
        f"{minutes:g} minutes of {name} with two processes, asked at {endured.rate:,.0f} a second, 80 % of what they "
        "can, by clients that compare every answer with the library's. Four of five ask for known users, the others "
        f"bring 20 ratings.\n\n{table(*_told(endured))}"
    )
    publish("ten minutes of trouble", text) if minutes == 10 else print(text)


def equal(folder: Path, n_requests: int = 10_000) -> None:
    """Compare the answers to random requests with the library's; slow models get fewer of the requests."""
    files = {name: fitted(folder, name) for name in MODELS} | {"of labels": of_labels(folder)}
    counts, wrong, seconds = {}, [], {}
    for seed, (name, file) in enumerate(files.items()):
        model = cofactor.load(file)
        questions = iter(OfLabels(model, seed) if name == "of labels" else OfRatings(model, seed))
        with Serving.started(str(file)) as serving:
            began = time.perf_counter()
            counts[name], odd = compare(questions, serving.port, round(SHARES[name] * n_requests))
            seconds[name] = time.perf_counter() - began
        for asked, status, answer in odd[:3]:
            print(f"{name}: {asked}\n  status {status}: {answer}", flush=True)
        wrong.append([name, len(odd)])
        print(f"{name}: {dict(counts[name])}, {len(odd)} wrong, {seconds[name]:.0f} s", flush=True)
    operations = list(dict.fromkeys(one for counted in counts.values() for one in counted))
    rows: list[list[Any]] = [[one, *(counts[name][one] or "–" for name in files)] for one in operations]
    rows.append(["not as the library's", *(number for _, number in wrong)])
    rows.append(["seconds, the library's own included", *(f"{seconds[name]:.0f}" for name in files)])
    text = (
        "Random requests with random settings: known users and new ones, alone and in batches, n, seen items or none, "
        "candidates, ways to rank; rows of features, thresholds, coverage. Every number of every answer is compared "
        "with what the methods of the model give for the same batch, to the bit. Reasons of an MMMF are refused, as "
        "they must be.\n\n" + table(["requests", *files], rows)
    )
    publish("equal answers", text) if n_requests == 10_000 else print(text)


def _told(endured: Endured) -> tuple[list[str], list[list[Any]]]:
    found = endured.found
    nonsense = endured.malformed["as it must be"]
    rows = [
        ["answers", f"{found.statuses[200]:,}", ""],
        ["of them not those of the library", found.wrong, "0"],
        ["told to come again (503)", found.statuses[503], "–"],
        ["other statuses", sum(found.statuses.values()) - found.statuses[200] - found.statuses[503], "0"],
        ["lost in killed processes", endured.lost_to_kills, "–"],
        ["lost otherwise", endured.lost, "0"],
        ["p99, ms", f"{found.late():.0f}", "–"],
        ["reloads", endured.reloads, "20"],
        ["processes killed", len(endured.kills), "5"],
        ["malformed requests, refused as they must be", f"{nonsense:,} of {endured.malformed.total():,}", "all"],
        ["memory of all processes, MB", f"{np.median(endured.memory):.0f}", "–"],
        ["its growth from the second fifth to the last", f"{100 * endured.growth():+.1f} %", "≤ 5 %"],
    ]
    return ["what", "found", "asked"], rows


def main(what: str, folder: str, *rest: str) -> None:
    place = Path(folder)
    place.mkdir(exist_ok=True)
    if what == "endure":
        endure(place, *map(float, rest))
    elif what == "equal":
        equal(place, *map(int, rest))
    else:
        {"figures": figures, "start": start}[what](place)


if __name__ == "__main__":
    main(*sys.argv[1:])
