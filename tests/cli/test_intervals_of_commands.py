"""Intervals at the command line: what was published about them is explained, and shown on the page."""

import json
import sys
from pathlib import Path

import pytest
from running import privfit

sys.path.append(str(Path(__file__).parents[1] / "publication"))
from inferred import LABELS, published_model


@pytest.fixture
def saved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = published_model("logit")
    model.save("model.json")
    return model


@pytest.mark.parametrize("kind", LABELS)
def test_explain_prints_the_table_that_python_prints(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = published_model(kind)
    model.save("model.json")
    text = privfit("explain", "model.json", "--intervals", "--level", "0.9").stdout
    assert text == f"{model.summary(0.9)}\n"


def test_json_has_every_effect(saved):
    told = json.loads(privfit("explain", "model.json", "--intervals", "--json").stdout)
    assert told["level"] == 0.95
    assert told["changed"] == "the log odds of well"
    assert told["effects"] == json.loads(json.dumps(saved.summary().records()))


def test_the_page_shows_them(saved, tmp_path):
    privfit("report", "model.json", "--out", "card.html")
    assert 'class="effects"' in (tmp_path / "card.html").read_text()


def test_what_cannot_be_shown_is_refused(saved):
    saved.inference_ = None
    saved.save("plain.json")
    refused = privfit("explain", "plain.json", "--intervals", code=2).stderr
    assert "plain.json has no intervals; train a model with: privfit train --inference" in " ".join(
        refused.split()
    )
    refused = privfit("explain", "model.json", "--intervals", "--level", "95", code=2).stderr
    assert "--level must be between 0 and 1" in refused
