"""A whole protocol in one process: partners in threads of their own, over channels in memory."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from veilboost.errors import RefusalError, UsageError
from veilboost.wire import Channel, memory_pair

T = TypeVar("T")


def together(
    name: str, lead: Callable[[Sequence[Channel]], T], partners: Mapping[str, Callable[[Channel], object]]
) -> T:
    """Run ``lead``, the party ``name``, and its ``partners``; a mistake is raised as who made it found it."""
    pairs = {party: memory_pair(name, party) for party in partners}
    with ThreadPoolExecutor(max(1, len(partners))) as pool:
        running = [pool.submit(run, pairs[party][1]) for party, run in partners.items()]
        try:
            result = lead([ours for ours, _ in pairs.values()])
        except RefusalError:
            _raise_first(running)
            raise
        for each in running:
            each.result()
    return result


def _raise_first(running: Sequence["Future[object]"]) -> None:
    """Raise the mistake or refusal of the partner that stopped first, rather than what others were told of it."""
    errors = [error for each in running if (error := each.exception()) is not None]
    for error in errors:
        if isinstance(error, UsageError):
            raise error
