import pytest
from typer.testing import CliRunner

from privfit.cli import app, bars


@pytest.mark.slow
def test_demo_shows_accuracies_budget_and_promise():
    result = CliRunner().invoke(app, ["demo"], env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    for expected in (
        "logistic regression",
        "linear SVM",
        "without privacy",
        "majority class",
        "Budget spent per iteration",
        "differentially private",
    ):
        assert expected in result.output
    assert "SEEDED" not in result.output


def test_bars_show_the_shape_of_the_values():
    assert bars([1.0, 4.0, 8.0]) == "▁▄█"
    assert len(bars(list(range(1, 500)), width=50)) == 50
    assert bars([1.0] * 7) == "█" * 7
