import csv

import numpy as np
import pytest
from sklearn.utils import Bunch

from privfit.experiments import table2
from privfit.experiments.designs import DATASETS, OPTIONAL
from privfit.experiments.summary import summarise


@pytest.fixture
def at_hand(monkeypatch):
    """Let every data set be a tiny one, but for those in the returned set."""
    missing = set()

    def load(name):
        if name in missing:
            raise OSError("it is not here.")
        target = np.array(["no", "yes", "no", "no"])
        return Bunch(data=np.zeros((4, 2)), target=target, classes=np.array(["no", "yes"]))

    monkeypatch.setattr(table2, "table", load)
    return missing


def test_has_a_line_for_each_data_set_with_the_papers_sizes(tmp_path, at_hand):
    assert table2.write_table2(tmp_path, OPTIONAL) == []
    with (tmp_path / "table2.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["dataset"] for row in rows] == list(DATASETS)
    first = rows[0]
    assert (first["records"], first["weights"], first["label"]) == ("4", "3", "yes")
    assert float(first["share_of_label"]) == 0.25
    assert (first["paper_records"], first["paper_weights"]) == ("48842", "124")
    assert "| Adult | 4 | 48,842 | 3 | 124 | yes | 0.2500 |" in summarise(tmp_path, 1, smoke=True)


def test_only_tables_that_nobody_may_pass_on_can_be_missing(tmp_path, at_hand):
    at_hand |= set(OPTIONAL)
    said = table2.write_table2(tmp_path, OPTIONAL)
    assert said == ["IPUMS-US is left out: it is not here.", "IPUMS-BR is left out: it is not here."]
    at_hand.add("bank")
    with pytest.raises(OSError, match="BANK cannot be had: it is not here"):
        table2.write_table2(tmp_path, OPTIONAL)
