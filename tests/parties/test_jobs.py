"""A job between two processes: the same model as in memory, clear refusals, and nothing hangs."""

import signal
from pathlib import Path

import pyarrow as pa
import pytest
from sites import Sites, ended, free_port, table, write_csv

from veilboost.data import NumberedSource, open_source
from veilboost.errors import VeilboostError
from veilboost.release import PolicyDoor, load_policy
from veilboost.trees import StockModel
from veilboost.vertical import opboost, together
from veilboost.vertical.folder import load
from veilboost.vertical.lead_table import prepared
from veilboost.vertical.plans import LeadPlan, load_plan

ON_REQUEST = 'thresholds = "on-request"'


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    return Sites.settled(tmp_path_factory.mktemp("sites"))


def in_memory(sites: Sites) -> StockModel:
    """Return the model of the same job over lines in memory, in the folder of other sites."""
    held = prepared(load_plan(sites.folder / "job.toml", LeadPlan), "bank")
    policy = load_policy(sites.folder / "shop.toml")
    door = PolicyDoor(policy, NumberedSource(open_source(str(sites.folder / "shop.csv")), "place"), order="place")
    return together(
        "bank",
        lambda lines: opboost.lead(lines, held.table, held.job).model,
        {"shop": lambda line: opboost.partner(line, door)},
    )


@pytest.mark.parametrize("more", ["", ON_REQUEST])
def test_memory_and_processes_give_the_same_model(more: str, sites: Sites, tmp_path: Path) -> None:
    expected = in_memory(sites.copied(tmp_path / "memory", more=more))
    here = sites.copied(tmp_path / "here", more=more)
    lead, looking = here.start("lead"), here.start("join", "--dry-run")
    code, said = ended(looking)
    assert code == 0, said
    assert "Dry run: nothing was drawn, charged or written." in said
    assert here.charged() == []
    partner = here.start("join")
    for code, said in (ended(lead), ended(partner)):
        assert code == 0, said
    assert load(here.folder / "model").model == expected
    assert here.charged() == [5 * 400]
    assert here.left_over() == set()
    statement = load(here.folder / "model").statement
    assert [each.party for each in statement.released] == ["shop"]
    assert statement.traffic["shop"]["received"]["Sent/1"] > 0


def refused(here: Sites, code: tuple[int, int]) -> tuple[str, str]:
    """Return what lead and partner said when a job ended with these codes."""
    lead, partner = here.start("lead"), here.start("join")
    ends = ended(lead), ended(partner)
    assert (ends[0][0], ends[1][0]) == code, ends
    assert not (here.folder / "model").exists()
    assert here.charged() == []
    return ends[0][1].splitlines()[-1], ends[1][1].splitlines()[-1]


def test_a_lead_that_asks_outside_the_policy_is_refused(sites: Sites, tmp_path: Path) -> None:
    lead, partner = refused(sites.copied(tmp_path, asked='columns = ["spend", "salary"]'), (4, 4))
    rule = "the policy of 'shop' does not grant column 'salary' to 'bank' for 'default risk'"
    assert partner == f"veilboost: refused: {rule}"
    assert lead == f"veilboost: refused: shop: {rule}"


@pytest.mark.parametrize(
    ("change", "lead", "partner"),
    [
        (
            lambda held: held.take([1, 0, *range(2, 400)]),
            "party 'shop' holds the same ids in another order: sort both tables by the id",
            "party 'bank' holds the same ids in another order: sort both tables by the id",
        ),
        (
            lambda held: held.slice(0, 399),
            "party 'shop' has 399 rows, where this party has 400",
            "party 'bank' has 400 rows, where this party has 399",
        ),
        (
            lambda held: held.set_column(0, "id", pa.array([*range(2, 401), 999])),
            "party 'shop' holds other ids than this party: both tables must be of the same rows",
            "party 'bank' holds other ids than this party: both tables must be of the same rows",
        ),
        (
            lambda held: held.set_column(0, "id", pa.array([f"c{n}" for n in range(400)])),
            "party 'shop' has ids that are text, where this party's are whole numbers",
            "party 'bank' has ids that are whole numbers, where this party's are text",
        ),
    ],
)
def test_rows_that_are_not_the_same_are_refused_on_both_sides(
    change: object, lead: str, partner: str, sites: Sites, tmp_path: Path
) -> None:
    here = sites.copied(tmp_path)
    assert callable(change)
    write_csv(change(table("shop")), here.folder / "shop.csv")
    assert refused(here, (5, 5)) == (f"veilboost: {lead}", f"veilboost: {partner}")


def test_ids_that_come_twice_are_the_mistake_of_who_has_them(sites: Sites, tmp_path: Path) -> None:
    here = sites.copied(tmp_path)
    write_csv(table("shop").take([0, 0, *range(2, 400)]), here.folder / "shop.csv")
    code, said = ended(here.start("join"))
    assert code == 2
    assert said.splitlines()[-1].endswith("shop.csv: column 'id' must name each row once; found 1 2 times")


def test_a_lead_names_the_party_that_does_not_come_and_how_to_go_on(sites: Sites, tmp_path: Path) -> None:
    here = sites.copied(tmp_path, wait=1.0)
    code, said = ended(here.start("lead"))
    assert code == 5
    assert said.splitlines()[-1] == (
        "veilboost: party 'shop' did not dial within 1 seconds; what was done so far is kept in job.state; "
        "to go on, start the same command again"
    )


def test_a_partner_names_the_lead_that_is_not_there(sites: Sites, tmp_path: Path) -> None:
    here = sites.copied(tmp_path, wait_partner=1.0)
    code, said = ended(here.start("join"))
    assert code == 5
    assert "party 'bank' cannot be dialled at localhost:" in said.splitlines()[-1]
    assert said.endswith("is this its port?; to go on, start the same command again\n")


def test_unknown_settings_are_refused_by_name(tmp_path: Path, sites: Sites) -> None:
    here = sites.copied(tmp_path, more="sharpne = true")
    code, said = ended(here.start("lead"))
    assert (code, said) == (2, "veilboost: job.toml: Object contains unknown field `sharpne`\n")
    assert free_port() > 0
    with pytest.raises(VeilboostError):
        load_plan(here.folder / "job.toml", LeadPlan)


@pytest.mark.parametrize("side", ["lead", "join"])
def test_an_interrupt_is_told_and_the_job_goes_on(side: str, sites: Sites, tmp_path: Path) -> None:
    here = sites.copied(tmp_path, more=ON_REQUEST)
    stopped = here.start(side)
    other = here.start("join" if side == "lead" else "lead", dies="")
    assert stopped.stdout is not None
    for line in stopped.stdout:
        if "in the same order" in line:
            break
    stopped.send_signal(signal.SIGINT)
    code, said = ended(stopped)
    again = here.start(side)
    for each in (again, other):
        found = ended(each)
        assert found[0] == 0, found[1]
    assert code in (0, 130), said
    assert here.charged() == [2000]
