"""The losses of several outputs: one of each kind, as the registry has them, and one of more classes."""

from privfit.losses import LOSSES as ALL
from privfit.losses.softmax import softmax

LOSSES = {name: loss for name, loss in ALL.items() if loss.outputs > 1}
LOSSES["softmax_4"] = softmax(4)  # outputs are worked on in pairs, and there is no last one
