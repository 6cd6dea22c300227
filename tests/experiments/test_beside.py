"""Published numbers beside measured ones."""

from types import SimpleNamespace

import pytest

from cofactor.evaluation.store import Run
from cofactor.experiments.papers import Discrepancy, beside
from cofactor.experiments.reproduction import Sample
from cofactor.published import Misprint


def printed(*rows, errors=()):
    names = ("data", "protocol", "method", "metric", "mean", "std")
    return SimpleNamespace(
        unusual={},
        rows=[SimpleNamespace(**dict(zip(names, row, strict=True))) for row in rows],
        metrics=["nmae"],
        errors=list(errors),
    )


def result(data, method, measures, split="0", error="", **parameters):
    return Run(
        key=f"{data}{method}{split}{parameters}", method=method, data=data, split=split, seed=0, parameters=parameters,
        checksum="", measure="", version="", status="failed" if error else "done", measures=measures, error=error,
        seconds=1.0,
    )  # fmt: skip


PRINTED = printed(
    ("ml", "weak", "HMF", "nmae", 0.40, 0.01),
    ("ml", "strong", "HMF", "nmae", 0.42, None),
    ("ml", "weak", "URP", "nmae", 0.43, None),
)


def test_rows_join_on_data_protocol_method_and_metric():
    results = [result("ml", "HMF", {"nmae": v, "mae": 9.0}, str(v), protocol="weak") for v in (0.39, 0.41)]
    rows = beside(PRINTED, results)
    assert [(row.protocol, row.method, row.here and row.here.mean) for row in rows] == [
        ("weak", "HMF", 0.40),
        ("strong", "HMF", None),
        ("weak", "URP", None),
    ]
    assert rows[0].published == Sample(0.40, 0.01)
    assert rows[0].here.n == 2


def test_variants_have_rows_of_their_own_and_what_is_only_ours_comes_last():
    results = [
        result("ml", "HMF", {"nmae": 0.38, "learned:nmae": 0.37}, protocol="weak"),
        result("ml", "HMF", {"nmae": 0.36}, protocol="weak", variant="realigned"),
        result("ml", "OrdinalProbit", {"nmae": 0.35}, protocol="weak"),
    ]
    rows = beside(PRINTED, results)
    assert [(row.method, row.variant, row.here.mean) for row in rows if row.here] == [
        ("HMF", "", 0.38),
        ("HMF", "learned threshold", 0.37),
        ("HMF", "realigned", 0.36),
        ("OrdinalProbit", "", 0.35),
    ]
    assert rows[-1].published is None
    assert {row.published.mean for row in rows[:3]} == {0.40}


def test_failures_and_known_reasons_are_told():
    results = [result("ml", "HMF", {}, error="MemoryError: too large\n  at line 3", protocol="strong")]
    absent = [Discrepancy("no longer distributed", method="U*"), Discrepancy("too general")]
    reasons = [Discrepancy("why it differs")]
    found = beside(PRINTED, results, reasons=reasons, absent=absent)
    rows = {(row.protocol, row.method): row for row in found}
    assert rows["strong", "HMF"].reason == "failed: MemoryError: too large"
    assert rows["weak", "URP"].reason == "no longer distributed"
    assert rows["weak", "HMF"].reason == "too general"


@pytest.mark.parametrize(("measured", "reason"), [((0.40, 0.41), ""), ((0.30, 0.31), "other folds")])
def test_reasons_are_for_what_does_not_agree(measured, reason):
    results = [result("ml", "HMF", {"nmae": v}, str(v), protocol="weak") for v in measured]
    rows = beside(PRINTED, results, reasons=[Discrepancy("other folds", method="HMF")])
    assert rows[0].reason == reason


def test_reasons_look_at_variant_and_verdict():
    results = [result("ml", "HMF", {"nmae": v, "learned:nmae": v - 0.4}, str(v), protocol="weak") for v in (0.60, 0.61)]
    reasons = [
        Discrepancy("the cut", variant="learned*"),
        Discrepancy("luck", verdict="better"),
        Discrepancy("bad luck"),
    ]
    plain, learned = beside(PRINTED, results, reasons=reasons)[:2]
    assert (plain.variant, plain.verdict, plain.reason) == ("", "worse", "bad luck")
    assert (learned.variant, learned.verdict, learned.reason) == ("learned threshold", "better", "the cut")


def test_misprints_are_told_before_other_reasons():
    error = Misprint(data="ml", method="HMF", metric="nmae", field="mean", printed="0.4", right="0.3")
    table = SimpleNamespace(rows=PRINTED.rows, metrics=PRINTED.metrics, errors=[error], unusual={})
    results = [result("ml", "HMF", {"nmae": v}, str(v), protocol="weak") for v in (0.30, 0.31)]
    rows = beside(table, results, reasons=[Discrepancy("other folds")])
    assert [(row.verdict, row.reason) for row in rows[:2]] == [("differs", "0.4 should be 0.3"), ("", "")]
    assert [row.misprint for row in rows] == [True, True, False]
    table.errors, table.unusual = [], {"nmae": "of another kind"}
    assert [(row.verdict, row.reason) for row in beside(table, results)[:1]] == [("differs", "of another kind")]
