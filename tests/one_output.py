"""The losses of one output; those of several are tested in tests/engine/test_outputs.py."""

from privfit.losses import LOSSES as ALL

LOSSES = {name: loss for name, loss in ALL.items() if loss.outputs == 1}
