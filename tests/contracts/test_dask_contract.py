"""Every question, asked of parts on a Dask cluster: the answers are those of the table in one place (Q39).

Parts in this process are in test_parts_contract.py; here questions and answers go through a scheduler.
"""

from __future__ import annotations

import logging

import numpy as np
import pytest
from engine_cases import LAYOUTS
from one_output import LOSSES
from test_curator import QUESTIONS
from test_parts_contract import BY_PRODUCTS, OF_PEOPLE, borders, fed, problem_of

from privfit.engine.parallel.dask_parts import DaskParts
from privfit.engine.parallel.worker_parts import make_part
from privfit.engine.parts import InParts, divided

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client():
    """Two workers in this process, with two threads each."""
    settings = {"n_workers": 2, "threads_per_worker": 2, "processes": False, "dashboard_address": None}
    with (
        distributed.LocalCluster(**settings, silence_logs=logging.CRITICAL) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def as_it_is(columns):
    ((problem,),) = columns
    return problem, [problem.n_records]


def on_workers(client, problem, seed):
    """Return the same records in parts on the workers; some parts are empty."""
    whole = divided(problem, borders(seed, problem))
    made = [
        client.submit(make_part, as_it_is, b"a secret", [part.records], pure=False)
        for part in whole.parts.parts
    ]
    return InParts(whole.without_records, DaskParts(client, made, [[k] for k in range(len(made))]))


# every layout, with a view or without
@pytest.mark.parametrize(("layout", "view"), [(layout, k % 3 == 1) for k, layout in enumerate(LAYOUTS)])
def test_answers_of_workers_are_those_of_one_place(layout, view, client):
    problem = problem_of(LOSSES["logistic"], layout)
    in_parts = on_workers(client, problem, 1)
    for name in sorted(QUESTIONS.keys() - OF_PEOPLE):
        if "ScoreSums" in name and view:
            continue  # scores are sums over columns as they are
        records = divided(problem, []) if name in BY_PRODUCTS else problem
        for one, other in zip(fed(name, records, view=view), fed(name, in_parts, view=view), strict=True):
            np.testing.assert_array_equal(one[0], other[0], err_msg=name)
            assert one[1:] == other[1:], "a scale is public"


@pytest.mark.parametrize("layout", ["dense_c_f64", "csr_f32"])
def test_answers_of_workers_about_people_are_those_of_one_place(layout, client):
    problem = problem_of(LOSSES["huber_1.345"], layout, people=True, weights=True)
    in_parts = on_workers(client, problem, 2)
    for name in sorted(OF_PEOPLE | {"GradientAt", "TargetSums", "WeightSum"}):
        for one, other in zip(fed(name, problem), fed(name, in_parts), strict=True):
            np.testing.assert_array_equal(one[0], other[0], err_msg=name)
