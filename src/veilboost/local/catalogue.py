"""The shares by their short names."""

from veilboost.errors import SettingError
from veilboost.local.classifier import LocalClassifier
from veilboost.local.sample import LocalSample
from veilboost.local.share import Share
from veilboost.local.statistic import LocalStatistic

SHARES: dict[str, type[Share]] = {each.name: each for each in (LocalSample, LocalStatistic, LocalClassifier)}


def share_of(given: object) -> Share:
    """Return a share by its name, or the one that is given.

    >>> share_of("sample"), share_of(LocalClassifier(box=1.0)).name
    (LocalSample(), 'classifier')
    """
    if isinstance(given, Share):
        return given
    if not isinstance(given, str) or given not in SHARES:
        raise SettingError("share", f"must be one of {', '.join(SHARES)}, or a Share", given)
    return SHARES[given]()
