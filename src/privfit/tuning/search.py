"""A search over few public settings: fits, scores, the choice and the refit are paid for by one promise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from rich.console import Console
from sklearn.base import clone, is_classifier

from privfit.accounting import Ledger
from privfit.accounting.parts import ledgers_of_parts
from privfit.curator import Curator, Measurement
from privfit.estimators.base import DPLinearModel
from privfit.estimators.declared import Declared
from privfit.estimators.labels import encoded_labels
from privfit.estimators.people import relation_of
from privfit.estimators.private import PrivateFit
from privfit.estimators.records import Records
from privfit.estimators.validation import check_number, check_switch
from privfit.metrics.held_out import HeldOut
from privfit.questions.comparisons import LossDifferences
from privfit.questions.scores import SHARE_GRID
from privfit.schema.taken import assumption_of
from privfit.surroundings import Family
from privfit.tuning.candidates import check_estimator, kind_of_promise, settings_of
from privfit.tuning.chosen import ChosenModel
from privfit.tuning.losses import CLIPS, Losses, check_scoring, losses_of
from privfit.tuning.parts import in_memory, people_of, split
from privfit.tuning.plan import Plan, seeds
from privfit.tuning.results import differences_in, in_words, table_of
from privfit.tuning.stating import how_chosen, restated

REFIT_SHARE = 0.7  # of the privacy budget, for the fit of the chosen settings to all records
LARGEST_SHARE = 0.5  # of the records, that may be held out


class DPSearchCV(ChosenModel, PrivateFit):
    """Choose among few public settings of a model, with differential privacy for the whole search.

    Every setting is fitted to the same training records and scored on the same held-out records. The scores
    get noise, the setting with the least noisy loss is chosen, and the model is fitted once more, to all
    records. One promise covers all of this: all fits, all scores and the choice, however many there are.

    A coin of its own decides for each record, or for each person, whether it is held out. So a record is
    either trained on or scored, and the scores cost nothing beyond what the fits cost (Q36 in
    docs/privacy.md). The fits of K settings share what the refit leaves of the privacy budget: each has 1/K
    of it in rho.

    Parameters
    ----------
    estimator : privfit estimator
        The model whose settings are tried. What is public about the table is said to it, as for a fit; the
        privacy budget, the ledger and the noise are said here.
    grid : dict or list of dict
        Values to try by the name of the setting, ``{"alpha": [0, 0.01], "curves": [False, True]}``: all
        combinations of them, or those of each dictionary of a list. Settings that decide what is promised,
        what is public or what is predicted are refused.
    epsilon : float, optional
        The privacy budget of the whole search, 1 by default.
    delta : float
        The second part of the privacy budget. It should be well below 1 / number of records.
    rho : float, optional
        The privacy budget in zero-concentrated differential privacy, instead of epsilon.
    scoring : str, optional
        The loss that settings are compared by: of classifiers log_loss, brier_score, hinge_loss or
        zero_one_loss, of regressors mean_squared_error, mean_absolute_error, mean_pinball_loss or
        mean_poisson_deviance. By default that of the model's kind.
    clip : float, optional
        How far a record's losses under all settings may lie from their mean, as a share of the range of the
        loss and in L2 norm; larger differences are shortened to it. The noise of the comparison is in
        proportion to it. The default is a share that suits the loss.
    log_loss_clip : float
        Probabilities are clipped to this distance from 0 and 1 for the log loss, and predicted counts to this
        share of the largest count for the Poisson deviance.
    held_out : float
        The probability with which a record, or a person, is held out.
    refit : bool
        Whether the chosen settings are fitted once more, to all records. That takes 70% of the privacy
        budget, in rho. Without a refit `best_estimator_` is the fit that was scored, and the fits share all
        of it; on the development tables such models are worse (docs/tuning.md).
    ledger : Ledger, optional
        The ledger that pays for the search. Without it the search counts in the family of the estimator's
        fits.
    noise : {"secure", "seeded"}
        "secure" draws coins and noise from the operating system's entropy. "seeded" makes them reproducible,
        for research only: whoever knows the seed can subtract the noise.
    random_state : None, int or numpy.random.Generator
        The seed of seeded noise.
    verbose : int
        1 says which setting is being fitted, with a bar of the privacy budget for each.

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
        `difference_noise`; `mean_test_loss` and `loss_noise`, the same for the loss itself, which is less
        well known; `rank_test_loss`, 1 for the chosen one. All of it was released; NaN stands for what the
        noise hides.
    scorer_ : str
        The loss that settings were compared by.
    privacy_ : PrivacyStatement
        What was promised for everything that the search released.
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
        grid: Any,
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
    ) -> None:
        self.estimator = estimator
        self.grid = grid
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

    # -- the search --------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit and score all settings, choose one, and fit it to all records, within the privacy budget.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_records, n_features)
            One record a row; with a schema a raw table or the path of one, as for a fit of the estimator.
        y : array of shape (n_records,), optional
            Targets. With a schema they are a column of the table, unless given.
        sample_weight : array of shape (n_records,), optional
            How much each record counts, in fits and scores.
        groups : array of shape (n_records,), optional
            An id for each row that says whose it is, with `rows_per_person` of the estimator. All rows of a
            person are trained on, or all of them are held out.

        Returns
        -------
        self : object
            The fitted search.

        Raises
        ------
        BudgetExceeded
            If the ledger has less left than the search asks for. Nothing was then charged or released.
        PrivacyLeakError
            In strict mode, if the guarantee would not cover everything that the search takes from the data.
        ValueError
            If a setting or the table is not as it should be, before anything was charged.
        """
        with self._as_strictly_as_made():
            return self._search(Records.given(X, y, sample_weight, groups))

    def check(self) -> None:
        """Refuse settings that make no sense, before there is a table; nothing is charged.

        Raises
        ------
        ValueError
            If the grid, the estimator or another setting is not as it should be.
        """
        self._checked()

    def _search(self, records: Records) -> Self:
        plan = self._planned(records)
        schema = plan.declared.schema
        of_query = assumption_of(records.X)
        records = replace(records, X=in_memory(records.X, schema))
        known, said = self._labels(records, plan)
        for number in range(len(plan.settings)):  # on all records, so that no coin decides about a refusal
            self._model(plan, number, self.ledger, plan.search, known)._fit(records, check_only=True)
        people = people_of(records, schema, plan.relation)
        training, testing = split(records, people, float(self.held_out), plan.terms.noise)
        held = HeldOut.given(testing, schema, plan.relation)
        # records without a label or an id may be all there is in a part, which is refused before a charge
        self._model(plan, 0, self.ledger, plan.search, known)._fit(training, check_only=True)
        ledger = self._open_ledger(plan.terms)
        family = self._join_family(plan.terms.kept)
        try:
            models, best, released, losses = self._compared(plan, ledger, training, held, known)
            model = models[best]
            if plan.refit:
                model = self._model(plan, best, ledger, plan.refit, known, refit=True)
                model._fit(records)
        except KeyboardInterrupt as interrupt:
            interrupt.__notes__ = []  # what a single fit says of its share
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
        settings = settings_of(estimator, self.grid)
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
        """Check the settings and divide the privacy budget; nothing of the records is looked at."""
        (models, settings, scoring, clip), estimator = self._checked(), self.estimator
        declared = Declared.by(estimator, weighted=records.sample_weight is not None)
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

    def _labels(self, records: Records, plan: Plan) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the labels that all fits are told, so that the training part does not decide which exist.

        And what statements say of them, by what a fit says that takes them for declared.
        """
        estimator = self.estimator
        if not is_classifier(estimator) or plan.declared.schema is not None or records.y is None:
            return {}, {}
        _, encoder = encoded_labels(records.y, estimator.classes)
        if estimator.classes is not None:
            return {}, {}
        classes = tuple(encoder.classes.tolist())
        _, told = encoded_labels(records.y, classes)
        return {"classes": classes}, {told.assumption: encoder.assumption}

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
        """Return an unfitted model with the settings of this number and its part of the privacy budget."""
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
        if weighted:  # by the records' own weights; those of classes are what settings may differ in
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
        """Give the search and its models one statement: what was promised for everything together.

        `said` has what is said instead of some assumptions of single fits, `further` are others.
        """
        n_records = plan.declared.n_records
        own = self._state(plan.terms, ledger, family, [], n_records=n_records)
        note = how_chosen(plan, self.held_out)
        for model in {id(model): model for model in (*self.estimators_, self.best_estimator_)}.values():
            model.ledger = self.ledger  # that of its fit is closed, and scores of the model draw on this one
            stated = restated(model.privacy_, own, note, n_records, said)
            model.privacy_ = replace(stated, assumptions=(*stated.assumptions, *further))
        best = self.best_estimator_.privacy_
        self.privacy_ = replace(best, notes=(note,), subject="set of models and scores")

    def _say(self, message: str) -> None:
        """Show what is going on, which is public, in a line of its own, because fits show bars."""
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
        """That of the estimator, because a search and fits of its estimator are about the same people."""
        family: Family | None = getattr(self.estimator, "_own_family", None)
        return super()._own_family if family is None else family
