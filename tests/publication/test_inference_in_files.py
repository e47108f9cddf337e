"""What a model file says about intervals comes back; files without it load as before."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from inferred import LABELS, published_model
from jsonschema import Draft202012Validator

import privfit
from privfit.publication import from_json, json_schema, to_json
from privfit.publication.numpy_file import numpy_source
from privfit.publication.plain import to_sklearn
from privfit.report import render


def kept(model, tmp_path):
    model.save(tmp_path / "model.json")
    return privfit.load(tmp_path / "model.json")


@pytest.mark.parametrize("kind", LABELS)
def test_a_loaded_model_has_the_same_intervals(kind, tmp_path):
    model = published_model(kind)
    loaded = kept(model, tmp_path)
    assert str(loaded.summary(0.9)) == str(model.summary(0.9))
    assert str(loaded.contrast({"age": 10})) == str(model.contrast({"age": 10}))
    assert to_json(loaded.published()) == to_json(model.published())
    np.testing.assert_array_equal(loaded.inference_.covariance, model.inference_.covariance)


def test_effects_of_interest_come_back(tmp_path):
    model = published_model("logit")
    model.inference_ = replace(model.inference_, chosen=("age",))
    assert str(kept(model, tmp_path).summary()) == str(model.summary())


def test_effects_are_estimated_with_the_corrected_weights(tmp_path):
    model = published_model("logit")
    corrected = 1.1 * model.inference_.estimate
    model.inference_ = replace(model.inference_, corrected=corrected)
    loaded = kept(model, tmp_path)
    assert str(loaded.summary()) == str(model.summary())
    assert loaded.contrast({"age": 72}).estimate == pytest.approx(corrected[0])


def test_a_file_without_intervals_loads_and_says_so(tmp_path):
    model = published_model("logit")
    written = json.loads(to_json(model.published()))
    assert "inference" in written
    del written["inference"]
    (tmp_path / "model.json").write_text(json.dumps(written))
    loaded = privfit.load(tmp_path / "model.json")
    with pytest.raises(ValueError, match="inference=True"):
        loaded.summary()
    assert "inference" not in json.loads(to_json(loaded.published()))


def test_a_file_with_intervals_follows_the_published_schema_and_converts_as_others_do():
    facts = published_model("logit").published()
    Draft202012Validator(json_schema()).validate(json.loads(to_json(facts)))
    plain = replace(facts, inference=None)
    assert numpy_source(facts) == numpy_source(plain)
    coefs = [to_sklearn(each, encoded=True)[-1].coef_ for each in (facts, plain)]
    np.testing.assert_array_equal(*coefs)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"names": ["a"]}, "do not fit together"),
        ({"estimate": [1.0]}, "do not fit together"),
        ({"corrected": [1.0]}, "do not fit together"),
        ({"corrected": "none"}, "breaks the rule 'type'"),
        ({"curvature": [[1.0]]}, "do not fit together"),
        ({"curvature": [[1.0, 2.0], [1.0]]}, "different lengths"),
        ({"spread": "none"}, "breaks the rule 'type'"),
        ({"sigma_curvature": -1.0}, "breaks the rule 'minimum'"),
        ({"step": [10**400]}, "too large"),
        ({"is_reference": [0, 1]}, "breaks the rule 'type'"),
        ({"chosen": "age"}, "breaks the rule 'type'"),
    ],
)
def test_intervals_that_make_no_sense_are_refused_in_a_sentence(change, reason):
    written = json.loads(to_json(published_model("logit").published()))
    written["inference"] |= change
    with pytest.raises(ValueError, match=reason):
        from_json(json.dumps(written))


def test_intervals_of_another_number_of_weights_are_refused():
    facts = published_model("logit").published()
    fewer = published_model("logit", columns=list(privfit.Schema.from_dict(facts.schema).features[:3]))
    written = json.loads(to_json(facts))
    written["inference"] = json.loads(to_json(fewer.published()))["inference"]
    with pytest.raises(ValueError, match="its intervals must name 16 weights"):
        from_json(json.dumps(written))


@pytest.mark.parametrize("entry", ["curvature", "spread", "estimate", "step", "directions"])
@pytest.mark.parametrize("size", [0.0, 1e300, -1e300])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_strangers_numbers_end_in_a_table(entry, size):
    """Whatever the numbers are, nothing is shown as an effect whose standard error is no number."""
    written = json.loads(to_json(published_model("logit").published()))
    written["inference"][entry] = (0.0 * np.array(written["inference"][entry]) + size).tolist()
    facts = from_json(json.dumps(written))
    model = published_model("logit")
    model.inference_ = facts.inference
    assert not re.search(r"\bnan\b", str(model.summary()))
    assert not re.search(r"\bnan\b", render(facts))
