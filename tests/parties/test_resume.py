"""Either side is killed at every step, started again, and goes on: the same model, charged for once."""

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sites import Sites, ended
from test_jobs import ON_REQUEST, in_memory

from veilboost.data import NumberedSource, open_source
from veilboost.release import PolicyDoor, load_policy
from veilboost.vertical import joining
from veilboost.vertical.folder import load
from veilboost.vertical.meeting import Offer
from veilboost.vertical.opboost import Ask, Training, released
from veilboost.vertical.plans import PartnerPlan, load_plan
from veilboost.vertical.steps import Steps

PARTNER = (
    "before receive Offer", "after send Standing", "after receive Commitment", "before send Digests",
    "before save aligned", "after save aligned", "before call release.desensitise:_enter",
    "after call release.desensitise:_enter", "before call release.door:state", "after save column-1",
    "before save released", "after save released", "before send Ranks", "after send Ranks", "after send Sent",
    "after receive Wanted", "before send Cuts",
)  # fmt: skip
LEAD = (
    "before save run", "after save run", "after receive Standing", "after send Half", "after save aligned",
    "before receive Ranks", "after receive Ranks", "after receive Sent", "before save released", "after save released",
    "before save trained", "after save trained", "before send Wanted", "after receive Cuts", "before save cuts",
    "after save cuts", "before save restored", "after save restored", "before call vertical.leading:save",
    "after call vertical.leading:save", "before call vertical.steps:Steps.finish",
)  # fmt: skip


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    return Sites.settled(tmp_path_factory.mktemp("sites"))


def killed(here: Sites, side: str, points: Sequence[str]) -> None:
    """Start one side again and again, and see it die at each point."""
    for point in points:
        code, said = ended(here.start(side, dies=point))
        assert code == -signal.SIGKILL, f"{point}: {said}"
        assert not (here.folder / "model").exists() or "leading:save" in point or "finish" in point, point


def check(here: Sites, expected: Sites) -> None:
    assert load(here.folder / "model").model == in_memory(expected)
    first, *rest = here.charged()
    assert (first, set(rest)) == (2000, {0} if rest else set())
    assert here.left_over() == set()


@pytest.mark.slow
def test_a_partner_that_is_killed_at_every_step_goes_on(sites: Sites, tmp_path: Path) -> None:
    here = sites.copied(tmp_path / "here", more=ON_REQUEST, wait=240.0)
    lead = here.start("lead")
    killed(here, "join", PARTNER)
    for code, said in (ended(here.start("join")), ended(lead)):
        assert code == 0, said
    check(here, sites.copied(tmp_path / "memory", more=ON_REQUEST))


@pytest.mark.slow
def test_a_lead_that_is_killed_at_every_step_goes_on(sites: Sites, tmp_path: Path) -> None:
    here = sites.copied(tmp_path / "here", more=ON_REQUEST, wait_partner=240.0)
    partner = here.start("join")
    killed(here, "lead", LEAD)
    for code, said in (ended(here.start("lead")), ended(partner)):
        assert code == 0, said
    check(here, sites.copied(tmp_path / "memory", more=ON_REQUEST))


def test_with_thresholds_up_front_a_partner_need_not_come_back(sites: Sites, tmp_path: Path) -> None:
    here = sites.copied(tmp_path / "here")
    partner = here.start("join", dies="after save released")
    lead = here.start("lead", dies="before save trained")
    assert ended(partner)[0] == -signal.SIGKILL
    code, said = ended(here.start("join"))
    assert code == 0, said
    assert "what was drawn before is sent again: that costs nothing" in said
    assert ended(lead)[0] == -signal.SIGKILL
    code, said = ended(here.start("lead"))
    assert code == 0, said
    check(here, sites.copied(tmp_path / "memory"))


def test_another_job_in_the_place_of_one_that_was_begun_is_refused(sites: Sites, tmp_path: Path) -> None:
    here = sites.copied(tmp_path, wait=1.0)
    assert ended(here.start("lead"))[0] == 5
    job = here.folder / "job.toml"
    job.write_text(job.read_text().replace("trees = 6", "trees = 7"))
    code, said = ended(here.start("lead"))
    assert code == 2
    assert said.endswith("finish it as it was, or remove this folder to begin anew\n")


def filled(here: Sites, side: str, points: dict[str, str]) -> None:
    """See that one side ends in one line that names what it could not write."""
    for point, named in points.items():
        code, said = ended(here.start(side, dies=f"full {point}"))
        assert code == 2, f"{point}: {said}"
        assert said.splitlines()[-1].startswith(f"veilboost: {named}"), point
        assert said.endswith(("File too large\n", "disk I/O error\n")), said
        assert "Traceback" not in said


@pytest.mark.slow
def test_a_partner_whose_disk_is_full_goes_on_when_there_is_room(sites: Sites, tmp_path: Path) -> None:
    here = sites.copied(tmp_path / "here", wait=240.0)
    lead = here.start("lead")
    points = {"save aligned": "partner.state: "}
    for each in ("stage", "charge", "_enter"):  # the private copy, the history of rows, the ledger itself
        points[f"call release.desensitise:{each}"] = "ledger.db"
    filled(here, "join", points | {"call release.door:_digest": "ledger.db", "save released": "partner.state: "})
    for code, said in (ended(here.start("join")), ended(lead)):
        assert code == 0, said
    assert "has to correct a mistake in its own table or settings first" in said
    check(here, sites.copied(tmp_path / "memory"))


@pytest.mark.slow
def test_a_lead_whose_disk_is_full_goes_on_when_there_is_room(sites: Sites, tmp_path: Path) -> None:
    here = sites.copied(tmp_path / "here", more=ON_REQUEST, wait_partner=240.0)
    partner = here.start("join")
    steps = ("run", "aligned", "released", "trained", "cuts", "left", "restored")
    points = {f"save {step}": "job.state: " for step in steps}
    filled(here, "lead", points | {"call vertical.leading:save": "model"})
    for code, said in (ended(here.start("lead")), ended(partner)):
        assert code == 0, said
    check(here, sites.copied(tmp_path / "memory", more=ON_REQUEST))


def test_what_is_kept_is_for_the_very_same_request_alone(sites: Sites, tmp_path: Path) -> None:
    """Under the name of a run that was begun nothing else is had: not other columns, not under another policy."""
    here = sites.copied(tmp_path)
    policy = load_policy(here.folder / "shop.toml")
    asked = Ask(
        job="risk",
        purpose="default risk",
        columns=["spend"],
        rows=400,
        use=Training(thresholds="up-front", between="next"),
    )
    door = PolicyDoor(policy, NumberedSource(open_source(str(here.folder / "shop.csv")), "place"), order="place")
    with released("bank", asked, door) as (ranks, _, _):
        pass

    def step(run: str = "one", **other: Any) -> str:
        side = joining._Partner.of(load_plan(here.folder / "partner.toml", PartnerPlan), print, print)
        with Steps(tmp_path / "partner.state") as steps:
            for what, state in kept.items():
                steps.save(what, state)
            offer = Offer(run=run, step="nothing", rows="already-aligned", ask=replace(asked, **other))
            return side._step(steps, offer)

    made_from = joining._Partner.of(load_plan(here.folder / "partner.toml", PartnerPlan), print, print)._made_from
    kept = {
        "aligned": joining.Aligned(run="one", made_from=made_from),
        "released": joining.Left(run="one", made_from=made_from, asked=asked, ranks=ranks, cuts={}),
    }
    assert step() == "released"
    assert step(columns=["spend", "visits"]) == "aligned"
    assert step(purpose="another") == "aligned"
    assert step(run="two") == "nothing"
    rules = here.folder / "shop.toml"
    rules.write_text(rules.read_text() + "\n# tightened\n")
    assert step() == "nothing"
