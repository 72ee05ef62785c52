"""Every public table by its name."""

from veilboost.data.public import images, kaggle, uci
from veilboost.data.public.published import PublicSet
from veilboost.errors import SettingError

PUBLIC_SETS: dict[str, PublicSet] = {
    each.name: each
    for each in (
        uci.ADULT,
        uci.PENDIGITS,
        uci.POWERPLANT,
        uci.CASP,
        kaggle.SALARIES,
        images.MNIST,
        images.FASHION,
        uci.BANK,
        uci.CREDIT_DEFAULT,
        kaggle.GIVE_ME_SOME_CREDIT,
        uci.HIGGS,
        uci.NOMAO,
    )
}


def public_set(name: str) -> PublicSet:
    """Return what is known about a public table, or refuse a name that is none.

    >>> public_set("adult").rows
    48842
    """
    if name not in PUBLIC_SETS:
        raise SettingError("name", f"must be one of {', '.join(sorted(PUBLIC_SETS))}", name)
    return PUBLIC_SETS[name]
