"""Tables 6.2 and 6.3 and figure 6.4: claims and statistics on made-up results."""

import pytest
from tests.experiments.results import result

from cofactor import published
from cofactor.experiments import experiment
from cofactor.experiments.papers.kumar_labels import (
    GROPLE,
    MEASURES,
    REALIGNED,
    duels,
    grople_cells,
    lead_claim,
    scores_here,
    threshold_claim,
    with_cut,
)
from cofactor.experiments.reproduction import Row, Sample

TABLE, STATISTICS, DIAGRAM = map(experiment, ("thesis-table-6.2", "thesis-table-6.3", "thesis-figure-6.4"))
PRINTED = published.load("thesis-6.2")
SETS = ("genbase", "medical", "cal500", "corel5k", "rcv1-sample1", "rcv1-sample2", "bibtex")


def as_printed(sets=SETS, lead=1.0, learned=0.0):
    """Return results as printed, but with a share of GroPLE's lead over PLST; a learned threshold adds as much."""
    results = []
    for data in sets:
        for method in GROPLE:
            measures = {}
            for metric in MEASURES:
                value, base = (PRINTED.get(data, name, metric).mean for name in (method, "PLST"))
                value = base + lead * (value - base) if method == "GroPLE" else value
                measures |= {metric: value, f"learned:{metric}": value + learned}
            results.append(result(method, data, measures))
    return results


def test_every_method_runs_on_every_data_set_as_published_and_realigned():
    cells = grople_cells("normal")
    ways = {(cell.data, cell.parameters.get("aligned"), cell.parameters.get("variant")) for cell in cells}
    assert ("rcv1-sample1", "published", None) in ways
    assert ("rcv1-sample1", "realigned", REALIGNED) in ways
    assert {cell.method for cell in cells} == set(GROPLE)
    heavy = {cell.data for cell in grople_cells("full")} - {cell.data for cell in cells}
    assert heavy == {"corel16k001", "delicious"}


def test_lead_claim():
    assert lead_claim(as_printed(), "accuracy", "").holds  # 4 of 7 printed in bold
    assert lead_claim(as_printed(lead=0.0), "accuracy", "").holds is False
    assert lead_claim([], "accuracy", "").holds is None


def test_threshold_claim_tells_a_lead_of_the_cut_from_one_of_the_method():
    assert threshold_claim(as_printed(lead=0.0, learned=0.15)).holds
    assert threshold_claim(as_printed(lead=1.0, learned=0.15)).holds is False
    assert threshold_claim(as_printed(lead=0.0, learned=0.0)).holds is False
    assert threshold_claim(as_printed(SETS[:3])).holds is None


def test_scores_need_all_methods():
    results = [one for one in as_printed() if (one.method, one.data) != ("LEML", "bibtex")]
    assert scores_here(results, "accuracy").data == SETS[:-1]
    assert scores_here(results, "accuracy").methods == tuple(GROPLE)
    slow = [one for one in as_printed() if (one.method, one.data) != ("MetaLabels", "bibtex")]
    found = scores_here(slow, "accuracy")
    assert (found.data, set(GROPLE) - set(found.methods)) == (SETS, {"MetaLabels"})
    realigned = [result(name, "genbase", {"accuracy": 0.9}, variant=REALIGNED) for name in GROPLE]
    assert scores_here(realigned, "accuracy") is None


def test_duels_are_told_where_half_of_the_sets_were_run():
    assert duels(as_printed())[0].holds
    swapped = {"MetaLabels": "BinaryRelevance", "BinaryRelevance": "MetaLabels"}
    exchanged = [result(swapped.get(one.method, one.method), one.data, one.measures) for one in as_printed()]
    assert duels(exchanged)[0].holds is False
    assert {claim.holds for claim in duels(as_printed(SETS[:3]))} == {None}


def test_rows_have_both_cuts_and_both_alignments():
    measures = {"accuracy": 0.23, "learned:accuracy": 0.36}
    results = [result("PLST", "rcv1-sample1", measures), result("PLST", "rcv1-sample1", measures, variant=REALIGNED)]
    rows = [row for row in TABLE.outcome(results).rows if (row.data, row.method) == ("rcv1-sample1", "PLST")]
    found = {row.variant for row in rows if row.metric == "accuracy"}
    assert found == {"", "learned threshold", REALIGNED, f"{REALIGNED}, learned threshold"}
    away = {row.reason for row in TABLE.outcome(results).rows if row.data == "mediamill"}
    assert away == {"the data set is not here"}


def test_statistics_recompute_what_is_printed():
    rows = STATISTICS.outcome([]).rows
    printed = [row for row in rows if row.published is not None]
    assert len(printed) == 7
    for row in printed:
        assert row.here.mean == pytest.approx(row.published.mean, abs=0.02)  # ranks are rounded in the source
    here = STATISTICS.outcome(as_printed())
    assert {row.variant for row in here.rows} > {"our numbers, plain cut", "our numbers, learned threshold"}


def test_too_few_data_sets_are_not_judged():
    claims = STATISTICS.outcome(as_printed(SETS[:3])).claims
    assert all(claim.holds for claim in claims if "printed" in claim.statement)
    assert {claim.holds for claim in claims if "our numbers" in claim.statement} <= {True, None}


def test_diagrams():
    outcome = DIAGRAM.outcome(as_printed())
    assert len(outcome.pictures) == 12
    printed = next(
        picture for picture in outcome.pictures if picture.name == "thesis-figure-6.4-accuracy-printed-numbers"
    )
    assert {"GroPLE", "MetaLabels"} <= {word for text in printed.draw().texts for word in text.get_text().split()}


def test_a_learned_threshold_is_told_where_it_reaches_what_the_plain_cut_does_not():
    def rows(method, learned):
        ways = {"": 0.1, "learned threshold": learned}
        place = {"data": "corel5k", "method": method, "metric": "accuracy", "published": Sample(0.3, 0.01)}
        return [Row(**place, variant=variant, here=Sample(mean, 0.01)) for variant, mean in ways.items()]

    told = with_cut([*rows("GroPLE", 0.31), *rows("FAiE", 0.2)])
    assert [row.reason for row in told] == ["reached with a learned threshold", "", "", ""]
