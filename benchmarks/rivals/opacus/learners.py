"""Linear models trained by DP-SGD with Opacus, all with one setting for every table and budget.

Columns are divided by the larger of their declared bounds in absolute value, so that zeros stay zeros.
Gradients are clipped at 1, Poisson batches hold 256 records in expectation (the number of training records is
taken as public, as Opacus does), 20 epochs of plain SGD from weights 0. Scale and learning rate are the best
of four settings on pima, compas and spambase at epsilon = 1, for the linear regression on the diabetes table
of scikit-learn at epsilon = 4: in a comparison, Opacus is not charged for this choice. A job may set another
batch_size and learning_rate. Opacus finds the noise for epsilon and delta by its PRV accountant. secure_mode
is off, because it needs torchcsprng; the noise comes from torch's own generator.
"""

import functools

import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.accountants.utils import get_noise_multiplier
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 20
BATCH_SIZE = 256
CLIP = 1.0
LEARNING_RATE = 2.0
LINEAR_LEARNING_RATE = 0.2  # the squared loss has eight times the curvature, and a rate of 2 diverges

torch.set_num_threads(1)  # more are slower for models so small


def scaled(job, X):
    """Return columns whose declared values are at most 1 in absolute value; a column of zeros stays one."""
    largest = np.maximum(np.abs(job.low), np.abs(job.high))
    return torch.tensor(X / np.where(largest > 0.0, largest, 1.0), dtype=torch.float32)


class Rows(TensorDataset):
    """Rows that return a whole batch at once, because a loop over its records takes longer than the model."""

    def __getitems__(self, indices):
        """Return the batch of these records."""
        return [tensor[torch.as_tensor(indices, dtype=torch.long)] for tensor in self.tensors]


@functools.cache  # other learning rates and splits of the same size need the same noise
def noise_multiplier(epsilon, delta, sample_rate):
    """Return the noise multiplier that `make_private_with_epsilon` would find for these arguments."""
    return get_noise_multiplier(
        target_epsilon=epsilon, target_delta=delta, sample_rate=sample_rate, epochs=EPOCHS, accountant="prv"
    )


def train(job, n_outputs, loss, targets, learning_rate=LEARNING_RATE):
    """Return the outputs of a linear layer, trained privately, on the new rows."""
    torch.manual_seed(job.seed)
    rows = scaled(job, job.X_train)
    model = nn.Linear(rows.shape[1], n_outputs)
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    learning_rate = job.settings.get("learning_rate", learning_rate)
    batch_size = min(job.settings.get("batch_size", BATCH_SIZE), len(rows))
    loader = DataLoader(Rows(rows, targets), batch_size=batch_size, collate_fn=lambda batch: batch)
    private, optimiser, batches = PrivacyEngine(accountant="prv").make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=learning_rate),
        data_loader=loader,
        noise_multiplier=noise_multiplier(job.epsilon, job.delta, 1.0 / len(loader)),
        max_grad_norm=CLIP,
        poisson_sampling=True,
    )
    for _ in range(EPOCHS):
        for batch, wanted in batches:
            optimiser.zero_grad()
            loss(private(batch), wanted).backward()
            optimiser.step()
    with torch.no_grad():
        return private(scaled(job, job.X_new)).double()


def softmax(job):
    """Train a softmax regression; with two classes that is logistic regression."""
    outputs = train(job, job.n_classes, nn.CrossEntropyLoss(), torch.tensor(job.y_train))
    probabilities = torch.softmax(outputs, dim=1).numpy()
    return probabilities.argmax(axis=1), probabilities


def logistic(job):
    """Train a logistic regression of two classes with one output."""
    if job.n_classes != 2:
        raise ValueError("logistic takes two classes; use softmax")
    targets = torch.tensor(job.y_train, dtype=torch.float32)[:, None]
    positive = torch.sigmoid(train(job, 1, nn.BCEWithLogitsLoss(), targets)[:, 0]).numpy()
    return (positive > 0.5).astype(int), np.column_stack([1.0 - positive, positive])


def linear(job):
    """Train a linear regression of targets that are scaled to [-1, 1] by their declared bounds."""
    low, high = job.target_bounds
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    targets = torch.tensor((np.clip(job.y_train, low, high) - middle) / half, dtype=torch.float32)
    outputs = train(job, 1, nn.MSELoss(), targets[:, None], LINEAR_LEARNING_RATE)[:, 0].numpy()
    return middle + half * outputs, None


LEARNERS = {"logistic": logistic, "softmax": softmax, "linear": linear}
