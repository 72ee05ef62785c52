"""What the other parties hear when one of them stops."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from veilboost.errors import LineError, PeerError, RefusalError, UsageError
from veilboost.wire.channel import Channel

INTERRUPTED = "somebody there interrupted it; it can go on"


@contextmanager
def telling(channels: Sequence[Channel]) -> Iterator[None]:
    """Tell the others why this party stops.

    Who did not keep to the protocol hears how; the rest hear no more than that somebody did not, and of a mistake in
    this party's own table no more than that there is one.
    """
    try:
        yield
    except RefusalError as error:
        _tell(channels, error.told)
        raise
    except LineError as error:
        _tell([channel for channel in channels if channel.peer == error.party], f"you {error.problem}")
        _tell(channels, "the line to another party broke")
        raise
    except PeerError as error:
        _tell([channel for channel in channels if channel.peer == error.party], f"you {error.problem}")
        _tell(channels, "another party did not keep to the protocol")
        raise
    except UsageError:
        _tell(channels, "cannot take part: there is a mistake in its own table or settings")
        raise
    except KeyboardInterrupt:
        _tell(channels, INTERRUPTED, again=True)
        raise
    except BaseException:
        _tell(channels, "stopped")
        raise


def _tell(channels: Sequence[Channel], reason: str, *, again: bool = False) -> None:
    for channel in channels:
        channel.refuse(reason, again=again)
