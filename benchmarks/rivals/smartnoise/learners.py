"""Synthetic records by smartnoise-synth's MST, and scikit-learn's logistic regression trained on them.

Numbers are divided into 20 bins of equal width between their declared bounds. MST takes the categories from
the records, treats the number of records as public, and draws as many synthetic records. Training on these
costs no further budget. The Gaussian noise comes from OpenDP and cannot be seeded; the job's seed is for
everything else.

Its own `sample` is not used, because in smartnoise-synth 1.0.8 with mbi 1.1.0 it mixes up the columns: mbi
returns them in another order, and columns that depend on the same third column are sorted in the same way.
"""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from snsynth import Synthesizer
from snsynth.transform import BinTransformer, LabelTransformer
from snsynth.transform.table import TableTransformer

BINS = 20


def encoded(job, X):
    """Return scaled numbers, and an indicator for each declared category."""
    parts = []
    for column, (low, high) in enumerate(zip(job.low, job.high, strict=True)):
        if column in job.nominal:
            parts.append(X[:, [column]] == np.arange(low, high + 1.0))
        else:
            parts.append((X[:, [column]] - low) / (high - low))
    return np.hstack(parts).astype(float)


def mst(job):
    """Draw synthetic records with their classes, and train on them without privacy."""
    np.random.seed(job.seed)  # noqa: NPY002  # MST draws from it
    nominal = set(job.nominal)
    transformers = [
        LabelTransformer(nullable=False)
        if column in nominal
        else BinTransformer(bins=BINS, lower=float(low), upper=float(high))
        for column, (low, high) in enumerate(zip(job.low, job.high, strict=True))
    ]
    clipped = np.clip(job.X_train, job.low, job.high)
    columns = {
        f"c{column}": clipped[:, column].astype(int if column in nominal else float)
        for column in range(len(job.low))
    }
    table = pd.DataFrame({**columns, "y": job.y_train})
    synthesizer = Synthesizer.create("mst", epsilon=float(job.epsilon), delta=job.delta)
    synthesizer.fit(
        table,
        transformer=TableTransformer([*transformers, LabelTransformer(nullable=False)]),
    )
    codes = synthesizer.synthesizer.synthetic_data(rows=len(table), method="sample")
    codes = synthesizer.undo_compress_fn(codes).df[[f"col{position}" for position in range(table.shape[1])]]
    drawn = np.array(synthesizer._transformer.inverse_transform(codes.values.tolist()), float)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model.fit(encoded(job, drawn[:, :-1]), drawn[:, -1].astype(int))
    probabilities = np.zeros((len(job.X_new), job.n_classes))
    probabilities[:, model.classes_] = model.predict_proba(encoded(job, job.X_new))
    return probabilities.argmax(axis=1), probabilities


LEARNERS = {"mst": mst}
