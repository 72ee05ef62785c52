"""Both sides hear whether their ids are the same, and nobody can pretend with what was said before."""

import queue
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from veilboost.errors import DataError, PeerError, RefusalError
from veilboost.vertical.alignment import Commitment, Digests, Half, Ids, already_aligned
from veilboost.wire import Channel, MemoryChannel, memory_pair

TIMEOUT = 20.0


def ids(*values: Any) -> Ids:
    return Ids.of(pa.table({"id": list(values)}), "id")


def ended(line: Channel, held: Ids, role: Any, job: str = "job") -> str:
    """Return what one side found: nothing where all is well."""
    try:
        already_aligned(line, held, role, job, timeout=TIMEOUT)
    except (PeerError, RefusalError) as error:
        line.refuse("no")
        return str(error)
    return ""


def compared(ours: Ids, theirs: Ids, jobs: tuple[str, str] = ("job", "job")) -> tuple[str, str]:
    here, there = memory_pair("bank", "shop")
    with ThreadPoolExecutor(2) as pool:
        both = pool.submit(ended, here, ours, "lead", jobs[0]), pool.submit(ended, there, theirs, "partner", jobs[1])
        return both[0].result(60), both[1].result(60)


@pytest.mark.parametrize("same", [ids(3, 1, 2), ids("a", "", "né", "日"), ids(-(2**63), 2**63 - 1)])
def test_the_same_ids_agree(same: Ids) -> None:
    assert compared(same, same) == ("", "")
    chunked = pa.chunked_array([same.values.slice(0, 1), same.values.slice(1)])
    assert compared(same, Ids.of(pa.table({"id": chunked}), "id")) == ("", "")


@pytest.mark.parametrize("narrow", [pa.int8(), pa.uint32(), pa.int64()])
def test_the_width_of_whole_numbers_does_not_matter(narrow: pa.DataType) -> None:
    held = Ids.of(pa.table({"id": pa.array([5, 9], narrow)}), "id")
    assert compared(ids(5, 9), held) == ("", "")


@pytest.mark.parametrize(
    ("ours", "theirs", "rule"),
    [
        (ids(1, 2, 3), ids(1, 3, 2), "holds the same ids in another order"),
        (ids(1, 2, 3), ids(1, 2, 4), "holds other ids than this party"),
        (ids("ab", "c"), ids("a", "bc"), "holds other ids than this party"),
        (ids(1, 2, 3), ids(1, 2), "rows, where this party has"),
        (ids(1, 2), ids("1", "2"), "where this party's are"),
    ],
)
def test_both_hear_how_their_ids_differ(ours: Ids, theirs: Ids, rule: str) -> None:
    found = compared(ours, theirs)
    assert rule in found[0]
    assert rule in found[1]
    assert (found[0].startswith("party 'shop' "), found[1].startswith("party 'bank' ")) == (True, True)


def test_a_column_with_a_dictionary_is_what_it_says() -> None:
    listed = pa.array(["b", "a"]).dictionary_encode()
    assert compared(ids("b", "a"), Ids.of(pa.table({"id": listed}), "id")) == ("", "")


def test_the_key_is_of_one_job() -> None:
    assert all("holds other ids" in each for each in compared(ids(1), ids(1), ("one", "another")))


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ([1, 1], "must name each row once; found 1 2 times"),
        ([1, None], "must not be missing"),
        ([1.5, 2.0], "must hold whole numbers or text"),
        (pa.array([], pa.int64()), "must name at least one row"),
    ],
)
def test_ids_that_name_no_rows_are_refused(values: Any, rule: str) -> None:
    with pytest.raises(DataError, match=rule):
        Ids.of(pa.table({"id": values}), "id")


class Says(MemoryChannel):
    """A line on which this end says something else."""

    def __init__(self, end: MemoryChannel, change: Any) -> None:
        super().__init__(end.peer, end._out, end._back)
        self._change = change

    def send(self, message: Any, timeout: float = TIMEOUT) -> None:
        super().send(self._change(self, message), timeout)


def against(change: Any) -> str:
    """Return what a lead finds of a partner that says something else."""
    here, there = memory_pair("bank", "shop")
    with ThreadPoolExecutor(2) as pool:
        lead = pool.submit(ended, here, ids(1, 2), "lead")
        pool.submit(ended, Says(there, change), ids(1, 2), "partner")
        return lead.result(60)


def test_a_half_of_the_key_that_was_not_committed_to_is_refused() -> None:
    def other(_: Any, message: Any) -> Any:
        return Half(key=bytes(32)) if isinstance(message, Half) else message

    assert against(other) == "party 'shop' sent another half of the key than it was bound to"


def test_a_commitment_that_is_sent_back_is_no_commitment() -> None:
    heard: dict[type, Any] = {}

    class Echo(MemoryChannel):
        def receive(self, kind: Any, timeout: float = TIMEOUT) -> Any:
            heard[kind] = super().receive(kind, timeout)
            return heard[kind]

        def send(self, message: Any, timeout: float = TIMEOUT) -> None:
            super().send(heard.get(type(message), message), timeout)

    here, there = memory_pair("bank", "shop")
    with ThreadPoolExecutor(2) as pool:
        lead = pool.submit(ended, here, ids(1, 2), "lead")
        pool.submit(ended, Echo("bank", there._out, there._back), ids(8, 9), "partner")
        assert lead.result(60) == "party 'shop' sent another half of the key than it was bound to"


def test_a_digest_that_is_sent_back_is_no_digest() -> None:
    said: queue.Queue[Digests] = queue.Queue()
    here, there = memory_pair("bank", "shop")

    class Told(MemoryChannel):
        def receive(self, kind: Any, timeout: float = TIMEOUT) -> Any:
            found = super().receive(kind, timeout)
            if kind is Digests:
                said.put(found)
            return found

        def send(self, message: Any, timeout: float = TIMEOUT) -> None:
            super().send(said.get() if isinstance(message, Digests) else message, timeout)

    with ThreadPoolExecutor(2) as pool:
        lead = pool.submit(ended, here, ids(1, 2), "lead")
        pool.submit(ended, Told("bank", there._out, there._back), ids(1, 2), "partner")
        assert "holds other ids" in lead.result(60)


def test_nothing_that_is_said_follows_from_ids_alone() -> None:
    def spoken() -> list[bytes]:
        heard: list[bytes] = []

        def note(_: Any, message: Any) -> Any:
            heard.append(msgspec.msgpack.encode(message))
            return message

        assert against(note) == ""
        return heard

    first, second = spoken(), spoken()
    assert len(first) == len(second) == 3
    assert all(one != other for one, other in zip(first, second, strict=True))
    secret = np.array([1, 2], "<i8").tobytes()
    assert not any(secret in each for each in [*first, *second])
    assert Commitment(type="integer", rows=2, commitment=b"").rows == 2
