"""Questions: statistics that a solver may ask for, with public parameters and a proven sensitivity.

A question is asked of a problem, of its table, of a point, or of a line. Each file defines one kind.
"""

from privfit.questions.comparisons import LossDifferences
from privfit.questions.count import Count, PeopleCount
from privfit.questions.effects import EffectCurvature, EffectGradient, EffectSpread, PersonSpread
from privfit.questions.gradients import Gradient, GradientAt, PersonGradientAt
from privfit.questions.histograms import Histograms
from privfit.questions.losses import ChangesOfLoss, LossesAlong, RisesAlong
from privfit.questions.magnitudes import Magnitudes
from privfit.questions.moments import Moments
from privfit.questions.norms import CurveNorms, Norms
from privfit.questions.products import HessianAt, SecondMoments
from privfit.questions.scores import ScoreSums
from privfit.questions.slope_counts import SlopeCounts
from privfit.questions.statistics import SufficientStatistics
from privfit.questions.targets import ScaleSlopesAt, SlopesAt, TargetSums
from privfit.questions.vertices import VerticesAt
from privfit.questions.weights import ClassSums, WeightSum

__all__ = [
    "ChangesOfLoss",
    "ClassSums",
    "Count",
    "CurveNorms",
    "EffectCurvature",
    "EffectGradient",
    "EffectSpread",
    "Gradient",
    "GradientAt",
    "HessianAt",
    "Histograms",
    "LossDifferences",
    "LossesAlong",
    "Magnitudes",
    "Moments",
    "Norms",
    "PeopleCount",
    "PersonGradientAt",
    "PersonSpread",
    "RisesAlong",
    "ScaleSlopesAt",
    "ScoreSums",
    "SecondMoments",
    "SlopeCounts",
    "SlopesAt",
    "SufficientStatistics",
    "TargetSums",
    "VerticesAt",
    "WeightSum",
]
