"""Algorithm 4: it is SAMME where noise is nothing, owners answer once, rounds that fail are thrown away."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import QUIET, SHARES, Classes, Floats, blobs, job, owners, plain_samme

from veilboost.cli.main import main
from veilboost.errors import EvidenceError, RefusalError
from veilboost.local import (
    Answers,
    Arrival,
    Attendance,
    Boosted,
    Centroids,
    Ensemble,
    Job,
    Learner,
    LocalSample,
    LocalStatistic,
    Owners,
    Question,
    Share,
    Stump,
    Weighting,
    answer,
    data_user,
)
from veilboost.release import Ledger, verify


@pytest.mark.parametrize("how", ["printed", "bounded"])
@pytest.mark.parametrize("classes", [2, 3])
def test_with_next_to_no_noise_it_is_plain_samme(classes: int, how: Any) -> None:
    values, truth = blobs(6000, 4, classes, seed=1, apart=0.6)
    own = blobs(1000, 4, classes, seed=2, apart=0.6)
    asked = job(
        LocalSample(),
        classes=classes,
        owners=500,
        rounds=4,
        labels="clear",
        weighting=Weighting(how=how),
        size=2**21 - 1,
    )
    held = owners(values, truth, 2, QUIET)
    found = data_user(held.arrivals(), asked, *own)
    scaled = asked.columns.scaled(values)
    groups = [(scaled[at : at + 1000], truth[at : at + 1000]) for at in range(0, 6000, 1000)]
    learners, alphas = plain_samme(groups, (asked.columns.scaled(own[0]), own[1]), classes, rounds=4)
    assert len(alphas) >= 2
    assert np.allclose(found.ensemble.alphas, alphas, atol=0.05)
    for ours, plain in zip(found.ensemble.learners, learners, strict=True):
        assert np.allclose(points(ours), plain, atol=0.02)


def test_unweighted_and_bounded_weights_differ_from_the_second_round_on() -> None:
    values, truth = blobs(4000, 4, 2, seed=3, apart=0.5)
    own = blobs(1000, 4, 2, seed=4, apart=0.5)
    found = {
        how: data_user(
            owners(values, truth, 1, QUIET).arrivals(),
            job(LocalSample(), owners=2000, rounds=2, labels="clear", weighting=Weighting(how=how)),
            *own,
        )
        for how in ("bounded", "none")
    }
    first, second = ([points(found[how].ensemble.learners[i]) for how in ("bounded", "none")] for i in (0, 1))
    assert np.allclose(first[0], first[1], atol=0.02)
    assert not np.allclose(second[0], second[1], atol=0.05)


def points(learner: Learner) -> Floats:
    assert isinstance(learner, Centroids)
    return np.array(learner.points)


@dataclass(frozen=True)
class One:
    """A single owner, as it would come over a network."""

    name: str
    values: Floats
    truth: Classes
    questions: list[Question]

    @property
    def keys(self) -> list[str]:
        return [self.name]

    @property
    def budgets(self) -> Floats:
        return np.array([2.0])

    def only(self, which: Any) -> "One":
        assert which.tolist() == [True]
        return self

    def answer(self, question: Question) -> Iterable[Answers]:
        self.questions.append(question)
        return [answer(question, self.values, self.truth, epsilon=2.0)]


@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES)
def test_owners_may_come_one_by_one(share: Share, tmp_path: Path) -> None:
    values, truth = blobs(180, 3, 2, seed=5, apart=3.0)
    asked: list[Question] = []
    seen: list[float] = []

    def arrivals(timeout: float) -> Iterator[Arrival]:
        seen.append(timeout)
        for owner in range(60):
            for _ in range(1 + owner % 2):  # every other one comes twice
                here = slice(3 * owner, 3 * owner + 3)
                yield One(f"owner {owner}", values[here], truth[here], asked)

    with Ledger.create(tmp_path / "owners.db") as ledger:
        found = data_user(
            arrivals,
            job(share, d=3, owners=20, rounds=9, timeout=3.0),
            *blobs(300, 3, 2, seed=6, apart=3.0),
            attendance=Attendance(ledger),
        )
        lines = ledger.lines()
    assert seen == [3.0]
    assert len(asked) == found.asked == 60
    assert len(found.rounds) == 3
    assert not found.complete
    assert [line.body["owners"] for line in lines if line.body["event"] == "asked"] == [20, 20, 20]
    assert {line.body["spent_by"][0]["budget"] for line in lines if line.body["event"] == "asked"} == {2 * 10**12}


def boost(held: Owners, asked: Job, ledger: Ledger | None = None, **settings: Any) -> Boosted:
    attendance = None if ledger is None else Attendance(ledger)
    own = blobs(400, asked.columns.count, asked.classes, seed=9, apart=0.8)
    return data_user(held.arrivals(), asked, *own, attendance=attendance, **settings)


def test_rounds_no_better_than_chance_are_thrown_away_and_use_their_owners_up(tmp_path: Path) -> None:
    values, truth = blobs(1000, 4, 2, seed=8, apart=0.8)
    held = owners(values, truth, 1, 0.01)  # noise alone
    with Ledger.create(tmp_path / "owners.db") as ledger:
        found = boost(held, job(LocalStatistic(), owners=50, rounds=20), ledger)
        lines = [line.body for line in ledger.lines()]
        assert verify(ledger) == 40
    assert found.asked == 1000
    assert len(found.rounds) == 20
    assert not found.complete
    assert "ran out" in found.end
    thrown = [each for each in found.rounds if each.alpha <= 0]
    assert 0 < len(thrown) < 20  # each half the time: one run in 10^6 has none, or nothing else
    assert len(found.ensemble.alphas) == 20 - len(thrown)
    assert all("thrown away, its owners are used up" in str(each) for each in thrown)
    outcomes = [body for body in lines if body["event"] == "round"]
    assert [body["kept"] for body in outcomes] == [each.kept for each in found.rounds]
    assert [lines[body["asked"] - 1]["round"] for body in outcomes] == [each.number for each in found.rounds]
    assert held.arrivals()(1.0) is not None
    assert list(held.arrivals()(1.0)) == []


def test_the_ledger_of_owners_is_shown_verified_and_exported_as_any_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    values, truth = blobs(90, 4, 2, seed=8, apart=0.8)
    held = Owners(values, truth, budgets=np.where(np.arange(90) % 3, 0.5, 2.0))
    with Ledger.create(tmp_path / "owners.db") as ledger:
        boost(held, job(LocalStatistic(), owners=30, rounds=20), ledger)
    for command in (["show"], ["show", "--json"], ["verify"]):
        monkeypatch.setattr("sys.argv", ["veilboost", "ledger", command[0], str(tmp_path / "owners.db"), *command[1:]])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert (
        "asked 30 owners for job test, round 1 (local statistic, piecewise): 20 with ε 0.5000, 10 with ε 2.0000"
        in printed
    )
    assert "asked in line 5: α" in printed
    assert '"budget":0.5,"owners":20' in printed
    assert "whole, 6 lines" in printed


def test_it_ends_where_too_few_owners_are_left_and_asks_none_of_them() -> None:
    values, truth = blobs(250, 4, 2, seed=10, apart=2.0)
    held = owners(values, truth, 1, 50.0)
    found = boost(held, job(LocalSample(), owners=100, rounds=5))
    assert found.asked == 200
    (left,) = held.arrivals()(1.0)
    assert len(left.budgets) == 50


def test_it_ends_when_all_rounds_are_kept(caplog: pytest.LogCaptureFixture) -> None:
    values, truth = blobs(500, 4, 2, seed=10, apart=1.0)
    held = owners(values, truth, 1, QUIET)
    with caplog.at_level("INFO", logger="veilboost"):
        found = boost(held, job(LocalSample(), owners=100, rounds=2))
    assert caplog.messages == [str(each) for each in found.rounds]
    assert found.complete
    assert found.end == "all 2 rounds were kept"
    assert (found.asked, len(found.ensemble.alphas)) == (200, 2)


def test_a_restart_asks_nobody_twice_and_goes_on_from_its_start(tmp_path: Path) -> None:
    values, truth = blobs(900, 4, 2, seed=11, apart=0.8)
    asked = job(LocalSample(), owners=200, rounds=4)
    kept: list[Ensemble] = []

    class KilledError(Exception):
        pass

    def until_the_second(found: Any, ensemble: Ensemble) -> None:
        kept.append(ensemble)
        if len(kept) == 2:
            raise KilledError

    with Ledger.create(tmp_path / "owners.db") as ledger, pytest.raises(KilledError):
        boost(owners(values, truth, 1, 200.0), asked, ledger, watch=until_the_second)
    with Ledger(tmp_path / "owners.db") as ledger:  # owners who have forgotten that they answered
        found = boost(owners(values, truth, 1, 200.0), asked, ledger, start=kept[-1])
        assert found.ensemble.alphas[: len(kept[-1].alphas)] == kept[-1].alphas
        assert found.asked == 400
        assert boost(owners(values, truth, 1, 200.0), asked, ledger).asked == 0


def test_owners_are_charged_before_they_are_asked(tmp_path: Path) -> None:
    values, truth = blobs(100, 4, 2, seed=12)

    class Deaf(Owners):
        def claim(self, owners: Any) -> None:
            raise ConnectionError

    held = Deaf(values, truth, budgets=1.0)
    with Ledger.create(tmp_path / "owners.db") as ledger:
        with pytest.raises(ConnectionError):
            boost(held, job(LocalSample(), owners=60), ledger)
        assert [line.body["event"] for line in ledger.lines()] == ["asked"]
        assert Attendance(ledger).newcomers(held.keys, most=1000).sum() == 40


def test_a_ledger_that_was_altered_is_refused(tmp_path: Path) -> None:
    values, truth = blobs(100, 4, 2, seed=12)
    with Ledger.create(tmp_path / "owners.db") as ledger:
        boost(owners(values, truth, 1, 1.0), job(LocalSample(), owners=50, rounds=1), ledger)
    history = tmp_path / "owners.db.rows" / "1.history"
    history.write_bytes(history.read_bytes()[:-1] + b"x")
    with Ledger(tmp_path / "owners.db") as ledger, pytest.raises(EvidenceError, match="was altered"):
        Attendance(ledger)


def test_two_runs_on_one_ledger_are_refused(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "owners.db") as ledger, Ledger(tmp_path / "owners.db") as same:
        first, second = Attendance(ledger), Attendance(same)
        for each in (first, second):
            each.newcomers(np.arange(5), most=5)
        first.charge(np.ones(5), {"job": "one"})
        with pytest.raises(EvidenceError, match="another process"):
            second.charge(np.ones(5), {"job": "two"})


def test_an_owner_that_has_answered_refuses() -> None:
    values, truth = blobs(10, 4, 2, seed=13)
    held = owners(values, truth, 1, 1.0)
    (group,) = held.arrivals()(1.0)
    question = job(LocalSample(), d=4).first()
    assert sum(each.owners for each in group.answer(question)) == 10
    with pytest.raises(RefusalError, match="asked again"):
        group.answer(question)


def test_the_owners_weights_follow_the_learners_that_were_wrong() -> None:
    random = np.random.default_rng(14)
    values, truth = random.uniform(-1, 1, (200, 2)), random.integers(0, 2, 200)
    stumps = [Stump(column=at % 2, threshold=0.1 * at, below=0, otherwise=1) for at in range(4)]
    ensemble, alphas = Ensemble(), [0.3, 1.2, 0.7, 0.05]
    for stump, alpha in zip(stumps, alphas, strict=True):
        ensemble = ensemble.joined_by(stump, alpha)
    expected = np.ones(200)
    for row in range(200):
        for stump, alpha in zip(stumps, alphas, strict=True):
            says = 1 if values[row, stump.column] >= stump.threshold else 0
            expected[row] *= math.exp(alpha) if says != truth[row] else 1.0
    printed = Weighting(how="printed").factors(ensemble, values, truth)
    bounded = Weighting().factors(ensemble, values, truth)
    clipped = Weighting(clip=2.0).factors(ensemble, values, truth)
    assert np.allclose(printed, expected)
    assert np.allclose(bounded, expected / math.exp(sum(alphas)))
    assert np.allclose(clipped, np.minimum(expected, 2.0) / 2.0)
    assert bounded.max() <= 1.0 >= clipped.max()
    assert Weighting(clip=2.0).least(ensemble) == pytest.approx(0.5)


def test_a_simulation_comes_out_the_same_with_a_seed_and_only_then() -> None:
    values, truth = blobs(3000, 4, 2, seed=15, apart=0.8)
    asked = job(LocalSample(), owners=300, rounds=3)
    runs = [boost(owners(values, truth, 2, 4.0, seed=seed), asked).rounds for seed in (1, 1, 2, None)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
    assert runs[0] != runs[3]


def test_owners_who_came_in_vain_are_not_charged(tmp_path: Path) -> None:
    values, truth = blobs(90, 4, 2, seed=17)
    with Ledger.create(tmp_path / "owners.db") as ledger:
        attendance, own = Attendance(ledger), blobs(50, 4, 2, seed=18)
        few, more = (owners(values[:part], truth[:part], 1, 1.0) for part in (30, 60))  # the first 30 come again
        assert data_user(few.arrivals(), job(LocalSample(), owners=40), *own, attendance=attendance).asked == 0
        assert data_user(more.arrivals(), job(LocalSample(), owners=20), *own, attendance=attendance).asked == 60
        assert [line.body["owners"] for line in ledger.lines() if line.body["event"] == "asked"] == [20, 20, 20]


@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES)
def test_a_thousand_perfect_rounds_leave_weights_that_are_numbers(share: Share) -> None:
    perfect = Ensemble((Stump(column=0, threshold=0.0, below=0, otherwise=1),) * 1000, (8.0,) * 1000)
    values = np.concatenate([np.full((200, 4), -1.0), np.full((200, 4), 1.0)])
    truth = np.repeat([0, 1], 200)
    held = owners(values, truth, 4, 5.0)
    found = data_user(held.arrivals(), job(share, owners=50, rounds=1001), values, truth, start=perfect)
    assert all(math.isfinite(each.alpha) and math.isfinite(each.cost) for each in found.rounds)
