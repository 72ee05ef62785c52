"""What the noise costs: the same model without it, where one party holds everything and may look."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, mean_squared_error, r2_score, roc_auc_score

from veilboost.data import coded
from veilboost.domain import Domain
from veilboost.vertical.page import Scores

AS_TRAINED = "this model, on noisy codes"
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
