"""How good models are that were trained on noisy codes and predict clear samples: GBDT and XGBoost, on public tables.

Numbers become codes from 1 to ``size`` by the paper's rule; noise is on the training columns alone, thresholds mean
codes, and test columns are clear codes. Repeats differ in noise and, where the publisher has no split, in rows.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

import msgspec
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, mean_squared_error

from veilboost.domain import Domain
from veilboost.errors import SettingError
from veilboost.estimators import OpBoostClassifier, OpBoostRegressor
from veilboost.estimators.compare import AS_IT_COMES, SHARPENED, STRETCHED, as_trained, unprotected
from veilboost.mechanisms import Mechanism, settings_of
from veilboost.studies.models_claims import CODED, RAW, claims
from veilboost.studies.outcome import Cell, Outcome
from veilboost.studies.repeats import each
from veilboost.studies.rivals import ADJS, GROUPS, LOCAL, TIGHT, all_of
from veilboost.studies.study import Progress
from veilboost.studies.tables import Table, load

STRETCHED_TIGHT, SHARPENED_TIGHT = f"{TIGHT}, stretched", f"{TIGHT}, sharpened"
SHORT = {"Adult": "2-Cls.", "Pen-digits": "M-Cls.", "Powerplant": "Reg.", "CASP": "Reg."}

Scores = dict[tuple[float, int, str], float]
"""By ε, θ and line; θ is 0 for lines that know no partitions."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which tables, budgets, partitions and rivals; ``rows`` limits the rows that train.

    ``ratio`` divides by the model on codes without noise: accuracy by its accuracy, and its squared error by the error.
    """

    tables: list[Literal["Adult", "Pen-digits", "Powerplant", "CASP"]]
    epsilons: list[float]
    thetas: list[int]
    alphas: list[float]
    fair_to: list[str] = []
    size: int = 10
    repeats: int = 10
    trees: int = 80
    first_order: bool = False
    ratio: bool = False
    rows: int | None = None


def run(settings: Settings, progress: Progress) -> Outcome:
    """Train every model, repeat by repeat."""
    cells: list[Cell] = []
    for name in settings.tables:
        table = load(name, settings.size)
        found = each(
            partial(_repeat, settings, table), range(settings.repeats), partial(progress, f"training on {name}")
        )
        cells += _cells(settings, table, found)
    return Outcome(cells=cells, claims=claims(Outcome(cells=cells), ratio=settings.ratio))


def _repeat(settings: Settings, table: Table, repeat: int) -> Scores:
    """Return the score of every model in one repeat: all see the same rows, and each mechanism its own noise."""
    train, test = table.split(repeat, settings.rows)
    y, truth = table.label[train], table.label[test]
    score = partial(_score, table, truth)
    X, X_test = table.coded.take(train), table.coded.take(test)
    found: Scores = {}
    plain = unprotected(_model(settings, table))
    found[0.0, 0, CODED] = score(plain.fit(X, y), X_test)
    found[0.0, 0, RAW] = score(plain.fit(table.raw.take(train), y), table.raw.take(test))
    for epsilon in settings.epsilons:
        for (theta, name), mechanism in _lines(settings, epsilon).items():
            model = _model(settings, table, epsilon=epsilon, mechanism=_named(mechanism), sharpen=name == TIGHT)
            model.set_params(simulation_seed=repeat, private=list(table.private)).fit(X, y)
            for line, (made, samples) in _as_lines(name, model, X_test).items():
                found[epsilon, theta, line] = score(made, samples)
    return found


def _lines(settings: Settings, epsilon: float) -> dict[tuple[int, str], Mechanism]:
    """Return every mechanism once: those that know no partitions under θ = 0."""
    found = {}
    for theta in settings.thetas:
        alphas = settings.alphas
        made = all_of(epsilon, size=settings.size, theta=theta, alphas=alphas, fair_to=settings.fair_to)
        for name, mechanism in made.items():
            found[theta if _knows_partitions(name) else 0, name] = mechanism
    return found


def _knows_partitions(name: str) -> bool:
    return name in (LOCAL, GROUPS) or ADJS in name


def _model(settings: Settings, table: Table, **protection: Any) -> Any:
    kind = OpBoostRegressor if table.task == "regression" else OpBoostClassifier
    return kind(
        domains={name: Domain.integers(1, settings.size, column=name) for name in table.private},
        nominal="native",
        first_order=settings.first_order,
        n_estimators=settings.trees,
        n_jobs=1,
        **protection,
    )


def _named(mechanism: Mechanism) -> Mapping[str, Any]:
    return {name: value for name, value in settings_of(mechanism).items() if name not in ("size", "epsilon")}


def _as_lines(name: str, model: Any, X: Any) -> dict[str, tuple[Any, Any]]:
    """Return the model under its line; a sharpened one also as it comes and stretched."""
    if name != TIGHT:
        return {name: (model, X)}
    made = as_trained(model, X)
    if SHARPENED not in made:
        raise SettingError("sharpen", "must leave a model as it comes beside it", name)
    return {TIGHT: made[AS_IT_COMES], STRETCHED_TIGHT: made[STRETCHED], SHARPENED_TIGHT: made[SHARPENED]}


def _score(table: Table, truth: NDArray[Any], model: Any, X: Any) -> float:
    measure: Callable[..., float] = mean_squared_error if table.task == "regression" else accuracy_score
    return float(measure(truth, model.predict(X)))


def _cells(settings: Settings, table: Table, found: list[Scores]) -> list[Cell]:
    cells = []
    for epsilon in settings.epsilons:
        for theta in settings.thetas:
            for line in dict.fromkeys(line for _, _, line in found[0]):
                key = next((k for k in _keys(epsilon, theta, line) if k in found[0]), None)
                if key is not None:
                    values = [_figure(settings, table, scores, key) for scores in found]
                    panel, at = _panel(settings, epsilon, theta), _at(settings, table, epsilon)
                    cells.append(Cell(panel=panel, line=line, at=at, values=values))
    return cells


def _keys(epsilon: float, theta: int, line: str) -> list[tuple[float, int, str]]:
    return [(epsilon, theta, line), (epsilon, 0, line), (0.0, 0, line)]


def _figure(settings: Settings, table: Table, scores: Scores, key: tuple[float, int, str]) -> float:
    if not settings.ratio:
        return scores[key]
    plain = scores[0.0, 0, CODED]
    return plain / scores[key] if table.task == "regression" else scores[key] / plain


def _panel(settings: Settings, epsilon: float, theta: int) -> str:
    return f"ε = {epsilon:g}, θ = {theta}" if settings.ratio else f"θ = {theta}"


def _at(settings: Settings, table: Table, epsilon: float) -> float | str:
    return SHORT[table.name] if settings.ratio else epsilon
