"""The setting `loss` of linear models with any convex loss, which a user may have written."""

from __future__ import annotations

from typing import ClassVar

from privfit.estimators.base import DPLinearModel
from privfit.estimators.validation import shown
from privfit.losses import LOSSES, Loss, get_loss, is_own, own
from privfit.losses.guarded import guarded, unit_of
from privfit.losses.targets import TWO_LABELS, Interval


class AnyLoss(DPLinearModel):
    """A linear model with the setting `loss`."""

    _needs_loss = True
    _models_of_own_losses: ClassVar[str]  # for a message: the models to use for losses with parameters
    loss: Loss | str | None

    def _given_loss(self) -> Loss:
        """Return the given loss, or raise ValueError and say what is wrong with it."""
        loss = self.loss
        wanted = TWO_LABELS if self._link.predicts_classes else Interval()
        if isinstance(loss, str) and loss in LOSSES:
            loss = get_loss(loss)
        if not isinstance(loss, Loss):
            names = [name for name, own in sorted(LOSSES.items()) if type(own.targets) is type(wanted)]
            raise ValueError(
                f"loss must be a privfit.losses.Loss, or one of {', '.join(map(repr, names))}, got "
                f"{shown(loss)}; {self._models_of_own_losses}; a model file does not keep the loss."
            )
        if type(loss.targets) is not type(wanted):
            raise ValueError(
                f"{type(self).__name__} needs a loss whose targets are {wanted.described}, and those of "
                f"{loss.name!r} are {loss.targets.described}."
            )
        return loss

    def _loss_of_fit(self) -> Loss:
        loss = self._given_loss()
        return own(loss) or guarded(loss)

    @property
    def _strength(self) -> float:
        loss = self._given_loss()
        return self.alpha if is_own(loss) else self.alpha / unit_of(loss)
