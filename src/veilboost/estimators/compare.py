"""What the noise costs: the same model without it, where one party holds everything and may look."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, mean_squared_error, r2_score, roc_auc_score

from veilboost.data import coded
from veilboost.domain import Domain
from veilboost.trees import StockModel
from veilboost.vertical import Extrapolation
from veilboost.vertical.page import Scores
from veilboost.vertical.sharpening import predicted

AS_TRAINED = "this model, on noisy codes"
SHARPENED = "this model, on noisy codes, sharpened"
AS_IT_COMES = "the same as it comes"
STRETCHED = "the same, predictions stretched"
PREPROCESSED = "on codes without noise"
PLAIN = "on raw columns, no protection"


def scores(models: Mapping[str, tuple[Any, Any]], y: Any, where: str) -> Scores:
    """Return the scores of fitted ``models``, each with the samples that it reads, against the truth ``y``."""
    measures = _measures(next(iter(models.values()))[0])
    values = {name: [of(model, X, y) for of in measures.values()] for name, (model, X) in models.items()}
    return Scores(list(measures), values, where)


def _measures(model: Any) -> dict[str, Any]:
    if not is_classifier(model):
        return {
            "R²": lambda model, X, y: float(r2_score(y, model.predict(X))),
            "mean squared error": lambda model, X, y: float(mean_squared_error(y, model.predict(X))),
        }
    found = {"accuracy": lambda model, X, y: float(accuracy_score(y, model.predict(X)))}
    if len(model.classes_) == 2:
        found["area under ROC"] = lambda model, X, y: float(roc_auc_score(y, model.predict_proba(X)[:, 1]))
    return found


def as_trained(model: Any, X: Any) -> dict[str, tuple[Any, Any]]:
    """Return a fitted model as it is and, if it was sharpened, beside what it was before and the simpler remedy."""
    trained = model._trained
    if trained.extrapolation is None:
        return {AS_TRAINED: (model, X)}
    stretched = Stretched(trained.as_it_comes, trained.extrapolation)
    return {
        SHARPENED: (model, X),
        AS_IT_COMES: (_with(model, trained.as_it_comes), X),
        STRETCHED: (_with(model, stretched), X),
    }


def _with(model: Any, other: Any) -> Any:
    """Return a fitted ``model`` that predicts by another stock model."""
    found = copy(model)
    found._trained = replace(model._trained, model=other)
    return found


@dataclass(frozen=True)
class Stretched:
    """A model whose predictions are stretched about their mean."""

    model: StockModel
    extrapolation: Extrapolation

    def predict(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the value, or the probability of class 1, or a row of probabilities."""
        return predicted(self.model.task, self.extrapolation.stretched(self.model.margins(matrix)))


def unprotected(model: Any) -> Any:
    """Return an unfitted copy that treats every column as the lead's own."""
    return clone(model).set_params(private=None, partners=None, policies=None, row_key=None)


def without_noise(table: pa.Table, domains: Mapping[str, Domain]) -> pa.Table:
    """Return ``table`` with each column of ``domains`` as the raw values that its codes stand for."""
    for name, domain in domains.items():
        codes = coded(domain, table[name].combine_chunks(), first_row=0).codes
        values = pa.array(domain.decode(codes), from_pandas=True)
        table = table.set_column(table.column_names.index(name), name, values)
    return table
