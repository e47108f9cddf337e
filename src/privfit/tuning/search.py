"""A private search over a few public settings: one privacy budget pays for fits, scores, choice and refit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from rich.console import Console
from sklearn.base import clone

from privfit.accounting import Ledger
from privfit.accounting.parts import ledgers_of_parts
from privfit.curator import Curator, Measurement
from privfit.estimators.base import DPLinearModel
from privfit.estimators.declared import Declared
from privfit.estimators.people import relation_of
from privfit.estimators.private import PrivateFit
from privfit.estimators.records import Reading, Records
from privfit.estimators.tables import refuse_parts
from privfit.estimators.validation import check_number, check_switch
from privfit.metrics.held_out import HeldOut
from privfit.questions.comparisons import LossDifferences
from privfit.questions.scores import SHARE_GRID
from privfit.schema.taken import assumption_of, taken
from privfit.surroundings import Family, one_thread_in_workers
from privfit.tuning.candidates import (
    check_estimator,
    check_weighted,
    kind_of_promise,
    one_grid,
    settings_of,
    told_labels,
)
from privfit.tuning.chosen import ChosenModel
from privfit.tuning.losses import CLIPS, Losses, check_scoring, losses_of
from privfit.tuning.parts import divided
from privfit.tuning.plan import Plan, seeds
from privfit.tuning.results import differences_in, in_words, table_of
from privfit.tuning.stating import how_chosen, restated

REFIT_SHARE = 0.7  # of the privacy budget, for the fit of the chosen settings to all records
LARGEST_SHARE = 0.5  # of the records that may be held out


class DPSearchCV(ChosenModel, PrivateFit):
    """Choose among a few public settings of a model, with differential privacy for the whole search.

    Every setting is fitted to the same training records and scored on the same held-out records. The scores
    have noise. The setting with the least noisy loss is fitted once more, to all records. One privacy budget
    covers all fits, all scores and the choice, for any number of settings.

    Each record, or each person, is held out at random, independently of the others. So a record is used
    either for training or for scores, and the scores cost no privacy budget beyond that of the fits (Q36 in
    docs/privacy.md). The fits of K settings share what the refit leaves of the privacy budget: each gets 1/K
    of it in rho.

    Parameters
    ----------
    estimator : privfit estimator
        The model whose settings are tried. It declares public facts about the table, as for a fit; the
        privacy budget, the ledger and the noise are settings of the search.
    param_grid : dict or list of dict
        Values to try by the name of the setting, ``{"alpha": [0, 0.01], "curves": [False, True]}``, as in
        scikit-learn's `GridSearchCV`. All combinations are tried, or those of each dictionary in a list.
        Settings that define the guarantee, public facts or the target raise an error.
    epsilon : float, optional
        The privacy budget of the whole search, 1 by default.
    delta : float
        The second part of the privacy budget. It should be well below 1 / number of records.
    rho : float, optional
        The privacy budget in zero-concentrated differential privacy, instead of epsilon.
    scoring : str, optional
        The loss by which settings are compared: log_loss, brier_score, hinge_loss or zero_one_loss for
        classifiers; mean_squared_error, mean_absolute_error, mean_pinball_loss or mean_poisson_deviance for
        regressors. By default that of the kind of model.
    clip : float, optional
        The L2 norm to which the differences of a record's losses from their mean are clipped, as a share of
        the range of the loss. The noise of the comparison is proportional to it. The default depends on the
        loss.
    log_loss_clip : float
        Probabilities are clipped to this distance from 0 and 1 for the log loss, and predicted counts to this
        share of the largest count for the Poisson deviance.
    held_out : float
        The probability with which a record, or a person, is held out.
    refit : bool
        Whether the chosen settings are fitted once more, to all records, which takes 70% of the privacy
        budget in rho. Without a refit, `best_estimator_` is the fit that was scored, and the fits share the
        whole budget; on the development tables such models are worse (docs/tuning.md).
    ledger : Ledger, optional
        The ledger that pays for the search. Without one, the search counts in the family of the estimator's
        fits.
    noise : {"secure", "seeded"}
        "secure" draws coins and noise from the operating system's entropy. "seeded" makes them reproducible,
        for research only: anybody who knows the seed can subtract the noise.
    random_state : None, int or numpy.random.Generator
        The seed of seeded noise.
    verbose : int
        1 shows which setting is being fitted, with a progress bar of the privacy budget.
    grid : dict or list of dict, optional
        Another name of `param_grid`.

    Attributes
    ----------
    best_estimator_ : privfit estimator
        The model with the chosen settings. Its `privacy_` is the promise of the whole search.
    best_params_ : dict
        The chosen settings.
    best_index_ : int
        Their row in `cv_results_`.
    estimators_ : list
        The models that were scored, one for each row of `cv_results_`. They may be published, too.
    cv_results_ : dict of arrays
        For each setting: its values, `param_NAME` and `params`; `difference`, how much larger its mean
        held-out loss is than the mean over all settings, and the standard error of the noise on that,
        `difference_noise`; `mean_test_loss` and `loss_noise`, the same for the loss itself, which has more
        noise; `rank_test_loss`, 1 for the chosen setting. All of it was released. NaN stands for numbers that
        the noise hides.
    scorer_ : str
        The loss by which settings were compared.
    privacy_ : PrivacyStatement
        The promise for everything that the search released.
    ledger_ : Ledger
        What paid for it.

    Examples
    --------
    >>> import numpy as np
    >>> from privfit import DPLogisticRegression, DPSearchCV
    >>> X = np.random.default_rng(0).normal(size=(5000, 3))
    >>> y = X[:, 0] + X[:, 1] > 0.0
    >>> model = DPLogisticRegression(classes=(False, True), feature_bounds=(-4.0, 4.0), n_records=5000)
    >>> search = DPSearchCV(model, {"alpha": [0.0, 0.3]}, epsilon=2.0).fit(X, y)
    >>> search.best_params_
    {'alpha': 0.0}
    >>> search.privacy_.epsilon
    2.0
    >>> search.score(X, y) > 0.9
    True
    """

    _subject = "search"

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        epsilon: float | None = None,
        delta: float = 1e-6,
        *,
        rho: float | None = None,
        scoring: str | None = None,
        clip: float | None = None,
        log_loss_clip: float = 0.01,
        held_out: float = 0.2,
        refit: bool = True,
        ledger: Ledger | None = None,
        noise: str = "secure",
        random_state: Any = None,
        verbose: int = 0,
        grid: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.scoring = scoring
        self.clip = clip
        self.log_loss_clip = log_loss_clip
        self.held_out = held_out
        self.refit = refit
        self.ledger = ledger
        self.noise = noise
        self.random_state = random_state
        self.verbose = verbose
        self.grid = grid

    # -- the search --------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit and score all settings, choose one, and fit it to all records, within the privacy budget.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            One record in each row; with a schema, a raw table or the path of one, as for a fit of the
            estimator.
        y : array of shape (n_records,), optional
            Targets. By default, with a schema, its label column.
        sample_weight : array of shape (n_records,), optional
            How much each record counts, in fits and scores.
        groups : array of shape (n_records,), optional
            For each row, the id of its person, if the estimator has `rows_per_person`. Either all rows of a
            person are trained on, or all of them are held out.

        Returns
        -------
        self : object
            The fitted search.

        Raises
        ------
        BudgetExceeded
            If the ledger has less left than the search asks for. Nothing is then charged or released.
        PrivacyLeakError
            In strict mode, if the guarantee would not cover everything that the search learns from the data.
        ValueError
            If a setting or the table is invalid. Nothing is then charged.
        """
        refuse_parts("A search", X, y, sample_weight, groups)
        with self._as_strictly_as_made(), one_thread_in_workers():
            return self._search(Records.given(X, y, sample_weight, groups))

    def check(self) -> None:
        """Raise an error for invalid settings, before there is a table; nothing is charged.

        Raises
        ------
        ValueError
            If the grid, the estimator or another setting is invalid.
        """
        self._checked()

    def _search(self, records: Records) -> Self:
        plan = self._planned(records)
        schema = plan.declared.schema
        of_query = assumption_of(records.X)
        X = records.X if schema is None else taken(records.X, schema)  # read once, for all fits and scores
        records = replace(records, X=X, reading=Reading())
        known, said = told_labels(self.estimator, records, schema)
        # check all records, so that the random division does not decide about an error
        for number in range(len(plan.settings)):
            self._model(plan, number, self.ledger, plan.search, known)._fit(records, check_only=True)
        shared, testing = divided(records, plan, float(self.held_out))
        held = HeldOut.given(testing, schema, plan.relation)
        # a part may hold only records without an id, which raises an error before a charge
        self._model(plan, 0, self.ledger, plan.search, known)._fit(shared.training, check_only=True)
        ledger = self._open_ledger(plan.terms)
        family = self._join_family(plan.terms.kept)
        try:
            models, best, released, losses = self._compared(plan, ledger, shared.training, held, known)
            model = models[best]
            if plan.refit:
                model = self._model(plan, best, ledger, plan.refit, known, refit=True)
                model._fit(shared.all)
        except (KeyboardInterrupt, MemoryError) as interrupt:
            interrupt.__notes__ = []  # the note of a single fit about its share of the privacy budget
            interrupt.add_note(
                f"The search was interrupted and released nothing. {self._still_spent(ledger)}"
            )
            raise
        self._settle(ledger)
        self.estimators_, self.best_estimator_, self.best_index_ = models, model, best
        self.best_params_, self.scorer_, self.ledger_ = plan.settings[best], plan.scoring, ledger
        self.cv_results_ = table_of(plan.settings, released, plan.level, (losses.low, losses.high))
        self._state_all(plan, ledger, family, said, of_query)
        return self

    def _checked(self) -> tuple[list[DPLinearModel], list[dict[str, Any]], str, float]:
        """Return unfitted models, their settings, the loss they are compared by, and its clip."""
        estimator = check_estimator(self.estimator)
        settings = settings_of(estimator, one_grid(self.param_grid, self.grid))
        self._check_settings()
        check_switch("refit", self.refit)
        check_number("held_out", self.held_out, largest=LARGEST_SHARE)
        check_number("log_loss_clip", self.log_loss_clip, largest=0.25)
        scoring = check_scoring(self.scoring, estimator)
        clip = CLIPS[scoring] if self.clip is None else self.clip
        check_number("clip", clip, largest=1.0)
        models = [clone(estimator).set_params(**setting) for setting in settings]
        for model in models:
            model._checked_solver()
        kind_of_promise(models, self.delta)
        return models, settings, scoring, max(float(clip), SHARE_GRID)

    def _planned(self, records: Records) -> Plan:
        """Check the settings and divide the privacy budget; no record is read."""
        (models, settings, scoring, clip), estimator = self._checked(), self.estimator
        declared = Declared.by(estimator, weighted=records.sample_weight is not None)
        check_weighted(settings, given=declared.weighting.given)
        relation = relation_of(estimator.rows_per_person, declared.schema, records.groups_name)
        terms = self._terms(
            kind_of_promise(models, self.delta), n_records=declared.n_records, relation=relation
        )
        assert terms.promise is not None
        refit = REFIT_SHARE * terms.promise.rho if self.refit else 0.0
        return Plan(
            settings,
            scoring,
            clip,
            declared,
            relation,
            terms,
            refit,
            seeds(len(settings) + 1, self.random_state, secure=self.noise == "secure"),
        )

    def _model(
        self,
        plan: Plan,
        number: int,
        ledger: Ledger | None,
        rho: float,
        known: dict[str, Any],
        *,
        refit: bool = False,
    ) -> DPLinearModel:
        """Return an unfitted model with the settings of this number and its share of the budget."""
        count, schema = len(plan.settings), plan.declared.schema
        n_records = plan.declared.n_records
        if n_records is not None and not refit:
            n_records = max(round((1.0 - self.held_out) * n_records), 1)
        if schema is not None and schema.records is not None:
            known = known | {"schema": replace(schema, records=n_records)}
        elif n_records is not None:
            known = known | {"n_records": n_records}
        model: DPLinearModel = clone(self.estimator).set_params(
            **plan.settings[number],
            **known,
            epsilon=None,
            delta=self.delta,
            rho=rho if refit else rho / count,
            ledger=ledger,
            noise=self.noise,
            random_state=plan.seeds[-1 if refit else number],
            verbose=self.verbose,
        )
        return model

    def _compared(
        self, plan: Plan, ledger: Ledger, training: Records, held: HeldOut, known: dict[str, Any]
    ) -> tuple[list[DPLinearModel], int, Measurement, Losses]:
        """Fit all settings to one part of the records and score them on the other, for one price (Q36)."""
        from privfit.engine.table import Table  # imported late: it needs numba, which is slow to import

        count = len(plan.settings)
        what = f"fits and scores of {count} settings"
        of_fits, of_scores = ledgers_of_parts(ledger, plan.search, 2, what=what)
        models = []
        for number, setting in enumerate(plan.settings):
            self._say(f"Setting {number + 1} of {count}: {in_words(setting)}")
            models.append(self._model(plan, number, of_fits, plan.search, known)._fit(training))
        self._say(f"Comparing {count} settings on held-out records")
        losses = losses_of(models, held, plan.scoring, log_loss_clip=float(self.log_loss_clip))
        columns = losses.shares
        used = held.used(columns, plan.relation)
        weighted = held.weights is not None
        # weighted by the records' own weights, because settings may differ in the weights of classes
        if weighted:
            own = replace(plan.declared.weighting, by_class=None)
            shares = own.of(held.weights, None, None).given
            assert shares is not None  # because weights were given
            columns = np.column_stack([columns, shares])
        curator = Curator(
            Table(columns[used], intercept=False),
            of_scores,
            plan.terms.noise,
            epsilon=plan.terms.epsilon,
            delta=plan.terms.delta,
            relation=plan.relation,
        )
        question = LossDifferences(plan.clip, plan.level, weighted=weighted)
        released = curator.measure(question, of_scores.rho)
        differences, _ = differences_in(released)
        return models, int(np.argmin(differences)), released, losses

    def _state_all(
        self, plan: Plan, ledger: Ledger, family: Any, said: dict[str, str], further: tuple[str, ...]
    ) -> None:
        """Give the search and its models one statement, which is about everything together.

        `said` replaces some assumptions of single fits; `further` has other assumptions.
        """
        n_records = plan.declared.n_records
        own = self._state(plan.terms, ledger, family, [], n_records=n_records)
        note = how_chosen(plan, self.held_out)
        for model in {id(model): model for model in (*self.estimators_, self.best_estimator_)}.values():
            # the ledger of its fit is closed; scores of the model draw on this one
            model.ledger = self.ledger
            stated = restated(model.privacy_, own, note, n_records, said)
            model.privacy_ = replace(stated, assumptions=(*stated.assumptions, *further))
        best = self.best_estimator_.privacy_
        self.privacy_ = replace(best, notes=(note,), subject="set of models and scores")

    def _say(self, message: str) -> None:
        """Show the state of the search, which is public, on a separate line, because fits show bars."""
        if self.verbose:
            Console(stderr=True, highlight=False, markup=False).print(message)

    @property
    def _noun(self) -> str:
        return str(self.estimator._noun)

    @property
    def _purchase(self) -> str:
        return f"this search of settings of {self._noun}"

    @property
    def _own_family(self) -> Family:
        """Return the estimator's family, because its fits and the search are about the same people."""
        family: Family | None = getattr(self.estimator, "_own_family", None)
        return super()._own_family if family is None else family
