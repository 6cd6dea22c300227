"""Batches hold what reading the whole file gives, from the beginning or from a mark on."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from cofactor.datasets import read_ratings
from cofactor.datasets.readers import parquet
from cofactor.datasets.readers.ratings import BatchOptions, rating_batches
from cofactor.errors import InvalidInputError


@pytest.fixture(params=["a.csv", "a.csv.gz", "a.parquet", "utf-16.csv"])
def path(request, tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setattr("cofactor.datasets.readers.text.CHUNK_BYTES", 100)
    monkeypatch.setattr(parquet, "CHUNK_ROWS", 16)
    rng = np.random.default_rng(0)
    table = {"user": rng.integers(0, 30, 200), "item": rng.integers(0, 9, 200), "rating": rng.integers(1, 6, 200)}
    file = tmp_path / request.param
    if file.suffix == ".parquet":
        pyarrow.parquet.write_table(pa.table(table), file, row_group_size=50)
        return file
    lines = ["user,item,rating", "", *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    text = "\n".join(lines).encode("utf-16" if "16" in request.param else "utf-8")
    file.write_bytes(gzip.compress(text) if file.suffix == ".gz" else text)
    return file


def options_for(path: Path) -> BatchOptions:
    return BatchOptions(encoding="utf-16" if "16" in path.name else "utf-8")


def test_batches_are_the_file(path: Path) -> None:
    data = read_ratings(path, encoding=options_for(path).encoding)
    batches = list(rating_batches(path, options_for(path)))
    assert len(batches) > 5
    assert [one for batch in batches for one in batch.users.to_pylist()] == data.X[:, 0].tolist()
    assert [one for batch in batches for one in batch.items.to_pylist()] == data.X[:, 1].tolist()
    assert [one for batch in batches for one in batch.values] == data.y.tolist()


def test_reading_goes_on_after_any_batch(path: Path) -> None:
    batches = list(rating_batches(path, options_for(path)))
    for k, batch in enumerate(batches):
        rest = list(rating_batches(path, options_for(path), batch.after))
        expected = [one for later in batches[k + 1 :] for one in later.users.to_pylist()]
        assert [one for later in rest for one in later.users.to_pylist()] == expected
        if rest:
            assert rest[0].place(0) == batches[k + 1].place(0)


def test_places_are_those_of_the_file(path: Path) -> None:
    batch = list(rating_batches(path, options_for(path)))[4]
    before = sum(len(one.values) for one in list(rating_batches(path, options_for(path)))[:4])
    place = str(batch.place(2, "item"))
    assert place == f"{path}, {'row' if path.suffix == '.parquet' else 'line'} {{}}, column 'item'".format(
        before + 3 if path.suffix == ".parquet" else before + 5
    )


def test_a_line_without_end_and_text_in_another_encoding(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("cofactor.datasets.readers.text.CHUNK_BYTES", 100)
    (tmp_path / "a.csv").write_text("user,item,rating\n1,2,3\n" + "9" * 2000)
    with pytest.raises(InvalidInputError, match=r"a.csv: has a line of more than"):
        list(rating_batches(tmp_path / "a.csv", BatchOptions()))
    (tmp_path / "b.csv").write_bytes(b"user,item,rating\n" + b"1,2,3\n" * 50 + b"1,\xe9,3\n")
    with pytest.raises(InvalidInputError, match=r"b.csv, line 52, byte 3: 0xe9 is not valid utf-8"):
        list(rating_batches(tmp_path / "b.csv", BatchOptions()))
    with pytest.raises(InvalidInputError, match=r"encoding='utf-17': not known"):
        list(rating_batches(tmp_path / "b.csv", BatchOptions(encoding="utf-17")))
