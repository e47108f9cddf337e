"""What saves, reports and converts stands above the estimators, which find it by name."""

import subprocess
import sys

import privfit.converters
from privfit.models.converters import CONVERTERS

ALONE = """
import sys
from privfit.estimators import DPLogisticRegression
above = [name for name in sys.modules if name.startswith(("privfit.publication", "privfit.report"))]
assert above == [], above
model = DPLogisticRegression(1.0, classes=(0, 1), feature_bounds=(0.0, 1.0))
model.fit([[0.0], [1.0]] * 20, [0, 1] * 20)
model.save(sys.argv[1])
assert "privfit.publication.document" in sys.modules and "privfit.report" not in sys.modules
"""


def test_an_estimator_is_imported_without_what_stands_above_it_and_saves_all_the_same(tmp_path):
    path = tmp_path / "model.json"
    subprocess.run([sys.executable, "-W", "ignore", "-c", ALONE, str(path)], check=True)
    assert privfit.load(path).n_features_in_ == 1


def test_every_converter_is_entered_under_its_own_name():
    assert sorted(CONVERTERS) == ["model_file", "page", "plain_sklearn"]
    assert all(getattr(privfit.converters, name) is convert for name, convert in CONVERTERS.items())
