"""The notebooks of examples/ run from their first cell to their last, and show what they say."""

import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))
LARGEST = 50_000  # bytes: what they show should be read, not scrolled


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()  # raises with the cell that failed
    assert "Traceback" not in str(notebook)
    assert "Warning:" not in str(notebook)  # as Python writes a warning


def test_there_are_examples_of_these():
    assert {path.stem for path in NOTEBOOKS} >= {
        "beds",
        "census",
        "curves",
        "digits",
        "hospital",
        "printed_table",
        "probe",
        "rents",
        "text",
        "visits",
        "wages",
    }


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_was_run_in_order_and_shows_what_it_gave(path):
    assert path.stat().st_size < LARGEST
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        assert cell.outputs or "print" not in cell.source
        assert not [output for output in cell.outputs if output.output_type == "error"]
        assert not [output for output in cell.outputs if output.get("name") == "stderr"]
    assert notebook.cells[0].source.startswith("# ")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_names_no_place_on_a_machine(path):
    assert not re.search(r"/(home|root|tmp|Users)/", path.read_text())
