"""A lead and partners in processes of their own, over mutual TLS: the same model as in memory, and nothing hangs."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "vertical"))

from talking import HELD, door, job, label, people, train, trained

from certified import party
from veilboost.errors import LineError, RefusalError
from veilboost.trees import BoostingSettings
from veilboost.vertical import Job, LeadTable, Own, Trained, opboost
from veilboost.wire import Listener, PartyKeys, dial, new_authority

DRIVER = Path(__file__).with_name("dialling.py")
PARTIES = ("bank", "shop")
BOTH = pytest.mark.parametrize("thresholds", ["up-front", pytest.param("on-request", marks=pytest.mark.slow)])


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PartyKeys]:
    folder = tmp_path_factory.mktemp("keys")
    by = new_authority(folder / "authority", "consortium")
    return {name: party(by, folder / name, name) for name in ("lead", *HELD)}


@contextmanager
def listening(keys: dict[str, PartyKeys], parties: Sequence[str] = PARTIES) -> Iterator[Listener]:
    with Listener(keys["lead"], ("127.0.0.1", 0), parties, opboost.MESSAGES) as listener:
        yield listener


def started(keys: PartyKeys, listener: Listener, name: str, epsilon: float = 1.0) -> "subprocess.Popen[str]":
    command = [sys.executable, str(DRIVER), str(keys.folder), str(listener.address[1]), name, str(epsilon)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def led(listener: Listener, made: Job) -> Trained:
    table = people()
    held = LeadTable(target=label(table), columns=[Own("own", table["own"].to_numpy())])
    return opboost.lead([listener.channel(each, 120) for each in made.columns or ()], held, made)


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    _, said = process.communicate(timeout=120)
    return process.returncode, said


@BOTH
def test_memory_threads_and_processes_give_the_same_model(thresholds: Any, keys: dict[str, PartyKeys]) -> None:
    made = job(PARTIES, thresholds=thresholds)
    expected = trained(train(made))
    with listening(keys) as listener:
        running = [started(keys[each], listener, each) for each in PARTIES]
        found = [led(listener, made)]
        assert [ended(each) for each in running] == [(0, "")] * len(PARTIES)
    with listening(keys) as listener, ThreadPoolExecutor(len(PARTIES)) as pool:
        address = ("localhost", listener.address[1])
        lines = [pool.submit(dial, keys[each], "lead", address, opboost.MESSAGES) for each in PARTIES]
        answers = [
            pool.submit(opboost.partner, line.result(60), door(each, 1.0, people()))
            for each, line in zip(PARTIES, lines, strict=True)
        ]
        found.append(led(listener, made))
        assert tuple(each.result(60) for each in answers) == expected.statements
        for line in lines:
            line.result(60).close()
    for each in found:
        assert each.model == expected.model
        assert each.inputs == expected.inputs
        assert each.statements == expected.statements
        for name in PARTIES:
            traffic, others = each.traffic[name], expected.traffic[name]
            greeted = traffic.received.pop("Hello/1"), traffic.sent.pop("Hello/1")
            assert all(0 < size < 300 for size in greeted)
            assert (traffic.sent, traffic.received) == (others.sent, others.received)


def test_a_partner_that_is_killed_is_named_and_may_dial_again(keys: dict[str, PartyKeys]) -> None:
    with listening(keys, ["shop"]) as listener:
        process = started(keys["shop"], listener, "shop")
        line = listener.channel("shop", 120)
        os.kill(process.pid, signal.SIGKILL)
        assert ended(process)[0] == -signal.SIGKILL
        with pytest.raises(
            LineError, match=r"^party 'shop' (closed the line|broke the line: connection reset by peer)$"
        ):
            line.receive(opboost.Ranks, 60)
        again = started(keys["shop"], listener, "shop")
        assert led(listener, job(["shop"])).model == trained(train(job(["shop"]))).model
        assert ended(again) == (0, "")


def test_a_lead_that_goes_away_is_named_at_once(keys: dict[str, PartyKeys]) -> None:
    with listening(keys, ["shop"]) as listener:
        process = started(keys["shop"], listener, "shop")
        listener.channel("shop", 120)
    code, said = ended(process)
    assert code == 4
    assert said in (
        "LineError: party 'lead' closed the line\n",
        "LineError: party 'lead' broke the line: connection reset by peer\n",
    )


def test_a_partner_in_a_process_hears_why_it_is_turned_away(keys: dict[str, PartyKeys]) -> None:
    with listening(keys, ["shop"]) as listener:
        assert ended(started(keys["clinic"], listener, "clinic")) == (
            4, "RefusalError: lead: you came where only 'shop' may come\n"
        )  # fmt: skip


def test_a_mistake_of_the_lead_is_told_to_all_and_none_hangs(keys: dict[str, PartyKeys]) -> None:
    made = job(PARTIES, columns={"bank": ["salary"], "shop": HELD["shop"]})
    with listening(keys) as listener:
        running = [started(keys[each], listener, each) for each in PARTIES]
        with pytest.raises(RefusalError, match="bank: "):
            led(listener, made)
        assert [ended(each)[0] for each in running] == [4, 4]


@pytest.mark.slow
def test_a_larger_job_over_processes(keys: dict[str, PartyKeys]) -> None:
    boosting = BoostingSettings(task="binary", backend="lightgbm", n_trees=40, max_depth=4, threads=1)
    made = job(tuple(HELD), backend="lightgbm", boosting=boosting)
    expected = trained(train(made))
    with listening(keys, tuple(HELD)) as listener:
        running = [started(keys[each], listener, each) for each in HELD]
        assert led(listener, made).model == expected.model
        assert [ended(each) for each in running] == [(0, "")] * len(HELD)
