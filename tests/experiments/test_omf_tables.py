"""Table 2 of the OMF paper: claims on made-up results."""

from tests.experiments.results import result

from cofactor.experiments import experiment
from cofactor.experiments.papers.omf import METHODS, SEEN, best_three, cuts, learning_the_cut, seen_rows

TABLE = experiment("omf-table-2")
MANY_LABELS = ("corel5k", "bibtex")


def micro(method, data, plain, learned=None, **parameters):
    measures = {"micro_f1": plain} | ({} if learned is None else {"learned:micro_f1": learned})
    return result(method, data, measures, **parameters)


def made_up(omf, others, plain=0.1):
    """Return results with these learned cuts, on three data sets."""
    values = {method: omf if method == "OMF" else others for method in METHODS}
    return [micro(m, data, plain, values[m]) for data in (*MANY_LABELS, "medical") for m in METHODS]


def test_best_three():
    assert best_three(cuts(made_up(0.4, 0.3))).holds
    assert best_three(cuts(made_up(0.3, 0.4))).holds is False
    assert best_three(cuts(made_up(0.4, 0.3)[:-1])).holds is None


def test_learning_the_cut_against_the_choice_of_method():
    assert learning_the_cut(cuts(made_up(0.4, 0.3))).holds  # gains .2 and .3, methods differ by .1
    assert learning_the_cut(cuts(made_up(0.9, 0.3, plain=0.29))).holds is False
    assert learning_the_cut({}).holds is None


def test_ranks_of_both_cuts():
    claims = TABLE.outcome(made_up(0.4, 0.3)).claims
    ranks = {claim.statement: claim.holds for claim in claims if "average rank" in claim.statement}
    assert ranks == {
        "Micro F1, printed numbers: OMF has the best average rank.": True,
        "Micro F1, our numbers, plain cut: OMF has the best average rank.": False,  # all are equal
        "Micro F1, our numbers, learned threshold: OMF has the best average rank.": True,
    }
    assert {claim.origin for claim in claims if "differ" in claim.statement} <= {"print", "ours"}


def test_training_rows():
    seen = micro("OMF", "medical", 0.93, variant=SEEN)
    assert seen_rows([micro("OMF", "medical", 0.79, 0.80), seen]).holds
    assert seen_rows([micro("OMF", "medical", 0.79, 0.91), seen]).holds is False
    assert seen_rows([seen]).holds is None
    assert ("medical", "OMF") not in cuts([seen])


def test_sets_and_methods_that_are_not_here_stay_in_the_table():
    rows = TABLE.outcome(made_up(0.4, 0.3)).rows
    reasons = {(row.data, row.method): row.reason for row in rows if row.here is None}
    assert reasons["mediamill", "OMF"] == "the data set is not among those of this package"
    both = [row for row in rows if (row.data, row.method) == ("corel5k", "OMF")]
    assert [(row.variant, row.here.mean) for row in both] == [("", 0.1), ("learned threshold", 0.4)]
    assert {row.published.mean for row in both} == {0.26337}


def test_dimensions_are_the_printed_ones():
    sizes = {
        (cell.data, cell.method): cell.parameters["settings"]["n_components"]
        for cell in TABLE.cells("full")
        if cell.method not in ("BinaryRelevance", "CCA")
    }
    assert sizes["bibtex", "OMF"] == 140
    assert sizes["scene", "PLST"] == sizes["scene", "CompressedSensing"] == 6
    assert sizes["corel5k", "MME"] == 50
    assert sizes["medical", "PLST"] == 45  # no more than labels
