"""What the documents say of the code, and the code of the documents: nothing points to what a reader does not have."""

import ast
import functools
import re
from pathlib import Path

from tests.together import together

from cofactor.datasets.registry import KNOWN

ROOT = Path(__file__).parents[1]
CORRECTIONS = (ROOT / "docs" / "corrections.md").read_text(encoding="utf-8")
ANCHORS = set(re.findall(r'<a id="(c\d+)"></a>', CORRECTIONS))


@functools.cache
def texts() -> dict[Path, str]:
    """Return all that is written in this repository, by file."""
    folders = [ROOT / name for name in ("src", "tests", "benchmarks", "docs")]
    found = [path for folder in folders for kind in ("py", "md", "toml") for path in folder.rglob(f"*.{kind}")]
    return {path: path.read_text(encoding="utf-8") for path in [*found, ROOT / "README.md", ROOT / "CHANGELOG.md"]}


def test_every_correction_that_is_cited_is_listed() -> None:
    cited = {}
    citation = re.compile(r"correction(?:s\.md,)?((?:\s*(?:and|to|,)?\s*C\d+a?)+)")
    for path, text in texts().items():
        for numbers in citation.findall(text):
            for number in re.findall(r"C(\d+)", numbers):
                cited.setdefault(f"c{number}", path.name)
    missing = {anchor: path for anchor, path in cited.items() if anchor not in ANCHORS}
    assert cited
    assert not missing


def test_every_test_that_a_correction_names_exists() -> None:
    names = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", CORRECTIONS)
    assert len(names) > 30
    for path in {path for path, _ in names}:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        known = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        missing = {function for place, function in names if place == path and function} - known
        assert not missing, f"{path} has no {missing}"


#: Files that whoever has this repository does not have.
@together("word", ["ERR" + "ATA", "METH" + "ODS-", "REA" + "CH-", "DES" + "IGN"])
def test_nothing_points_outside_the_repository(word: str) -> None:
    pattern = re.compile(rf"\b{word}")
    found = [str(path.relative_to(ROOT)) for path, text in texts().items() if pattern.search(text)]
    assert found == []


def test_every_file_that_the_architecture_names_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    files = set(re.findall(r"`((?:[\w-]+/)+[\w-]+\.py|\w+\.py)`", text))
    assert len(files) > 40
    missing = [name for name in files if not (ROOT / name).exists() and not (ROOT / "src" / "cofactor" / name).exists()]
    assert sorted(missing) == []


def test_every_known_data_set_is_listed() -> None:
    listed = (ROOT / "docs" / "data-sets.md").read_text(encoding="utf-8").splitlines()
    wanted = [f"| `{e.name}` | {e.description} | {'yes' if e.url else 'no'} |" for e in KNOWN.values()]
    assert [line for line in listed if line.startswith("| `")] == wanted


def test_figures_of_the_page_of_benchmarks_stand_in_the_tables_it_links_to() -> None:
    page = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    parts = page.split("\n## ")[1:-1]  # the last one says how to run scripts
    assert len(parts) == 6
    for part in parts:
        linked = re.findall(r"\((\.\./docs/benchmarks/[\w-]+\.md)\)", part)
        tables = " ".join((ROOT / "benchmarks" / link).read_text(encoding="utf-8") for link in linked)
        said = re.sub(r"\]\(.*?\)|`.*?`", "", part)
        figures = re.findall(r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+|\d*\.\d+)(?![\d,]*\d)", said)
        assert len(figures) > 2
        assert [figure for figure in figures if figure not in tables] == []


#: A page, words of a block of code on it, and the test that executes this block. A block that says the same elsewhere
#: is executed with it. A block that no test executes says so to the right of its language: ```sh not-run.
EXECUTED = (
    ("README.md", "--upgrade-deps", "test_readme.py::test_ci_runs_the_test_commands_of_the_readme"),
    ("README.md", "OrdinalProbit", "test_readme.py::test_python_example"),
    ("README.md", "LabelRidge", "test_readme.py::test_python_example_of_labels"),
    ("README.md", "cofactor doctor", "test_readme.py::test_commands_that_can_be_pasted"),
    ("docs/guide/labels.md", "cofactor.correlation", "test_readme.py::test_an_example_of_labels_that_go_together"),
    ("docs/guide/ratings.md", "Recommender", "test_readme.py::test_python_example_of_recommendations"),
    ("docs/guide/ratings.md", "explain", "test_readme.py::test_python_example_of_recommendations"),
    ("docs/how-large.md", "LabelChunks", "test_readme.py::test_labels_in_chunks"),
    ("docs/adding-a-method.md", "class PLST", "labels/test_docs.py::test_the_listing_is_the_source"),
    ("docs/adding-a-method.md", "class Mine", "labels/test_docs.py::test_the_skeleton_passes_the_contract_tests"),
    (
        "docs/adding-a-method.md",
        "class QuadraticLearner",
        "labels/test_learners.py::test_the_learner_that_the_documentation_shows",
    ),
    ("docs/adding-a-method.md", "class Gap", "labels/test_decisions.py::test_the_rule_that_the_documentation_shows"),
    ("docs/architecture.md", "class ItemMeans", "ratings/test_a_new_model.py::item_means"),
    (
        "docs/architecture.md",
        "class SharedUsers",
        "ratings/test_a_new_model.py::test_that_of_interactions_passes_the_tests_of_all",
    ),
    ("docs/architecture.md", "def read_lines", "datasets/test_formats.py::documented_format"),
    ("docs/architecture.md", "Format(", "datasets/test_formats.py::documented_format"),
    ("docs/comparing.md", "[[methods]]", "experiments/test_declared.py::test_the_example_of_the_documentation_runs"),
    ("docs/data-sets.md", "make_movies", "datasets/test_make_movies.py::test_the_example_of_the_documentation_runs"),
    ("docs/text-and-tables.md", "pd.DataFrame", "datasets/test_text_docs.py::test_the_example_runs"),
    ("docs/text-and-tables.md", "cofactor predict", "datasets/test_text_docs.py::test_the_example_runs"),
    ("docs/text-and-tables.md", "load_labels", "datasets/test_text_docs.py::test_the_example_runs"),
    ("docs/text-and-tables.md", "TfidfVectorizer", "datasets/test_text_docs.py::test_the_example_runs"),
    ("docs/serving.md", "/metrics", "server/test_answers.py::test_requests_of_the_document"),
    ("docs/serving.md", "star wars", "server/test_answers.py::test_python_of_the_document"),
    ("docs/serving.md", '{"kidney": 1}', "server/test_labels.py::test_requests_of_the_document"),
    ("docs/serving.md", 'search=cough")', "server/test_labels.py::test_python_of_the_document"),
    ("docs/serving.md", "cats purr", "server/test_labels.py::test_python_of_the_document"),
    ("docs/serving.md", '{"user": 42, "items"', "server/test_labels.py::test_requests_of_the_document"),
    ("docs/serving.md", '{"row": {"cough"', "server/test_labels.py::test_requests_of_the_document"),
)


def code_blocks(page: str) -> list[tuple[str, str]]:
    """Return what stands beside the fence of each block of a page, and the block; directives of MyST are none."""
    found = re.findall(
        r"^[ >]*(`{3,}|~{3,}|:{3,})([^\n]*)\n(.*?)^[ >]*\1[ ]*$", (ROOT / page).read_text("utf-8"), re.S | re.M
    )
    return [(words.strip(), code) for _, words, code in found if not words.strip().startswith("{")]


def test_every_block_of_code_is_executed_or_marked() -> None:
    executed = set()
    for page, words, test in EXECUTED:
        path, function = test.split("::")
        names = ast.walk(ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8")))
        assert function in {node.name for node in names if isinstance(node, ast.FunctionDef)}, test
        (code,) = {code for info, code in code_blocks(page) if words in code and "not-run" not in info}
        executed.add(code)
    made = {"gallery", "api", "how-to"}  # the first two by the build of the site; all of the last by test_how_to.py
    paths = [path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md")]
    pages = ["README.md", *(str(path) for path in sorted(paths) if path.parts[1] not in made)]
    unmarked = [
        (page, code.splitlines()[:1])
        for page in pages
        for info, code in code_blocks(page)
        if code not in executed and not re.fullmatch(r"\w+ not-run", info)
    ]
    assert unmarked == []
