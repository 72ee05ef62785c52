"""How two parties meet over a line, and part: which run of which job, how far each is, and why one stops."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from veilboost.errors import LineError, PeerError, RefusalError, UsageError
from veilboost.vertical import alignment, opboost
from veilboost.vertical.opboost import Ask
from veilboost.vertical.plans import Way
from veilboost.wire import Channel, Message
from veilboost.wire.telling import INTERRUPTED

Step = Literal["nothing", "aligned", "released", "finished"]
STEPS: tuple[Step, ...] = ("nothing", "aligned", "released", "finished")


class Offer(Message, frozen=True, kw_only=True):
    """The lead says which run this is, what it asks for, and how far it is with this partner.

    A run begins with nothing and ends with a model; after the lead was stopped the same run goes on.
    """

    run: str
    step: Step
    rows: Way
    ask: Ask


class Standing(Message, frozen=True, kw_only=True):
    """How far the partner is in this run."""

    step: Step


MESSAGES: tuple[type[Message], ...] = (Offer, Standing, *alignment.MESSAGES, *opboost.MESSAGES)
"""What is said on a line, by name and version."""


def lower(first: Step, second: Step) -> int:
    """Return the place of the lower of two steps: from there both go on.

    >>> STEPS[lower("released", "aligned")]
    'aligned'
    """
    return min(STEPS.index(first), STEPS.index(second))


@contextmanager
def excused(channel: Channel) -> Iterator[None]:
    """Tell the other side why this one stops, and whether it may go on."""
    try:
        yield
    except LineError:
        channel.refuse("the line between the two broke, or nothing came in time", again=True)
        raise
    except RefusalError as error:
        channel.refuse(error.told)
        raise
    except PeerError as error:
        channel.refuse(f"you {error.problem}")
        raise
    except KeyboardInterrupt:
        channel.refuse(INTERRUPTED, again=True)
        raise
    except UsageError:
        channel.refuse("has to correct a mistake in its own table or settings first", again=True)
        raise
    except BaseException:
        channel.refuse("it stopped; it can go on", again=True)
        raise
