"""Tables that Kaggle gives to those who sign in: nothing to download, but a file to be put in place."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from veilboost.data.public.lines import rows
from veilboost.data.public.published import PublicSet, Published


def _salaries(files: Mapping[str, Path]) -> pa.Table:
    return rows(files["Salaries.csv"], columns=["TotalPay"])


SALARIES = PublicSet(
    name="salaries",
    title="SF Salaries: total pay alone, no names",
    publisher="Kaggle, from Transparent California",
    licence="CC0 as Kaggle says",
    page="https://www.kaggle.com/datasets/kaggle/sf-salaries",
    files=(Published("Salaries.csv", (), 64 << 20),),
    read=_salaries,
    columns={"TotalPay": pa.float64()},
    rows=148_654,
    digest="9b5fd2b8b9498136bf54fdcdfb72219d9e3979719f833542dff565be7b6aec03",
)

_CREDIT = {
    "SeriousDlqin2yrs": pa.int8(),
    "RevolvingUtilizationOfUnsecuredLines": pa.float64(),
    "age": pa.int8(),
    "NumberOfTime30-59DaysPastDueNotWorse": pa.int8(),
    "DebtRatio": pa.float64(),
    "MonthlyIncome": pa.float64(),
    "NumberOfOpenCreditLinesAndLoans": pa.int8(),
    "NumberOfTimes90DaysLate": pa.int8(),
    "NumberRealEstateLoansOrLines": pa.int8(),
    "NumberOfTime60-89DaysPastDueNotWorse": pa.int8(),
    "NumberOfDependents": pa.int8(),
}


def _give_me_some_credit(files: Mapping[str, Path]) -> pa.Table:
    return rows(files["cs-training.csv"], columns=list(_CREDIT), missing=["NA"])


GIVE_ME_SOME_CREDIT = PublicSet(
    name="give-me-some-credit",
    title="Give Me Some Credit, the training file",
    publisher="Kaggle, Credit Fusion",
    licence="the rules of the competition",
    page="https://www.kaggle.com/competitions/GiveMeSomeCredit/data",
    files=(Published("cs-training.csv", (), 16 << 20),),
    read=_give_me_some_credit,
    columns=_CREDIT,
    rows=150_000,
    ranges={"SeriousDlqin2yrs": (0, 1), "RevolvingUtilizationOfUnsecuredLines": (0, 1e6), "DebtRatio": (0, 1e6)},
)
