"""Losses: functions of (prediction, target). Losses in the files of this package are found by name."""

from importlib import import_module
from pkgutil import iter_modules

from privfit.losses.loss import Loss

__all__ = ["LOSSES", "Loss", "get_loss", "is_own", "own"]

_modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
LOSSES: dict[str, Loss] = {
    found.name: found for module in _modules for found in vars(module).values() if isinstance(found, Loss)
}
# the functions that make losses with parameters
_makers = [
    each.made_by[0]
    for known in LOSSES.values()
    for each in (known, known.smooth_stand_in)
    if each is not None and each.made_by is not None
]


def get_loss(name: str) -> Loss:
    """Return the loss called `name`."""
    if name not in LOSSES:
        raise ValueError(f"unknown loss {name!r}; known losses: {', '.join(sorted(LOSSES))}")
    return LOSSES[name]


def own(loss: Loss) -> Loss | None:
    """Return privfit's own loss that equals this one, whose constants are proved, or None if there is none.

    Losses are equal if their functions and their constants are the same; an equal name is not enough. A loss
    with parameters is compared with a new one that has the same parameters. The result is privfit's object,
    because attributes that are not compared may differ in a copy.
    """
    maker, arguments = loss.made_by or (None, ())
    known = [LOSSES[loss.name]] if loss.name in LOSSES else []
    if any(maker is ours for ours in _makers):
        assert maker is not None
        known.append(maker(*arguments))
    if loss.outputs > 1:
        known += [each.of_classes(loss.outputs) for each in LOSSES.values() if each.of_classes]
    return next((each for each in known if type(each) is Loss and each == loss), None)


def is_own(loss: Loss) -> bool:
    """Return whether a loss is one of privfit's own."""
    return own(loss) is not None
