"""The public tables of the papers: where their publishers keep them, how they are read, and how they are checked."""

from veilboost.data.public.catalogue import PUBLIC_SETS, public_set
from veilboost.data.public.fetching import Fetched, Haul, Listed, fetch, fetch_all, haul, listed, public_table
from veilboost.data.public.published import PublicSet, Published

__all__ = [
    "PUBLIC_SETS",
    "Fetched",
    "Haul",
    "Listed",
    "PublicSet",
    "Published",
    "fetch",
    "fetch_all",
    "haul",
    "listed",
    "public_set",
    "public_table",
]
