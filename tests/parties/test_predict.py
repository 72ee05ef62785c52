"""Prediction with partners, between processes: the numbers that files give, charged once, whoever is killed when."""

import json
import signal
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv
from sites import Sites, ended, table, write_csv

from party import run
from veilboost.data import NumberedSource, open_source
from veilboost.release import PolicyDoor, load_policy
from veilboost.vertical import joint, opboost, together
from veilboost.vertical.folder import load, save
from veilboost.vertical.lead_table import prepared
from veilboost.vertical.plans import LeadPlan, load_plan
from veilboost.vertical.statement import state


def asked(here: Sites, party: str = "shop") -> list[str]:
    """Return which columns some tree compares: with few trees under noise, perhaps not all."""
    found = joint.asked(load(here.folder / "model"), 100, job="", purpose="")
    return found[party].columns or []


def new(here: Sites, party: str = "shop") -> int:
    """Return how many values have not left before: of 100 samples 60 were trained on."""
    return 40 * len(asked(here, party))


def trained(here: Sites) -> Sites:
    """Train over lines in memory, write the model folder, and let all hold new samples."""
    held = prepared(load_plan(here.folder / "job.toml", LeadPlan), "bank")
    parties = [party for party in ("shop", "clinic") if (here.folder / party).is_dir()]
    found = together(
        "bank",
        lambda lines: opboost.lead(lines, held.table, held.job),
        {party: partial(opboost.partner, door=door(here, party)) for party in parties},
    )
    said = state(found, held.job, rows=len(held.ids), classes=held.classes)
    save(here.folder / "model", found, said, "a report")
    here.bring_samples()
    return here


def door(here: Sites, party: str) -> PolicyDoor:
    source = NumberedSource(open_source(str(here.folder / f"{party}.csv")), "place")
    return PolicyDoor(load_policy(here.folder / f"{party}.toml"), source, order="place")


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    settled = Sites.settled(tmp_path_factory.mktemp("sites"))
    settled.plan()
    return trained(settled)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    return Sites.settled(tmp_path_factory.mktemp("three"), clinic=True)


def from_files(here: Sites, parties: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Return what is predicted from desensitised files."""
    monkeypatch.chdir(here.folder)
    command = ["predict", "model", "new.csv", "from-files.csv", "--key", "id", "--keep", "id,age"]
    for party in parties:
        assert run(["desensitise", f"{party}.csv", f"{party}.parquet", "--policy", f"{party}.toml"], monkeypatch) == 0
        command += ["--with", f"{party}.parquet"]
    assert run(command, monkeypatch) == 0
    return Path("from-files.csv").read_bytes()


def check(here: Sites, monkeypatch: pytest.MonkeyPatch, parties: Sequence[str] = ("shop",)) -> None:
    """See that the predictions are those from files, in the order of the samples, and that nothing is left over."""
    assert (here.folder / "out.csv").read_bytes() == from_files(here, parties, monkeypatch)
    ids = [csv.read_csv(here.folder / name)["id"] for name in ("out.csv", "new.csv")]
    assert ids[0] == ids[1]
    assert here.left_over() == set()


def done(*processes: "subprocess.Popen[str]") -> list[str]:
    """Return what processes said that all ended well."""
    found = [ended(each) for each in processes]
    assert [code for code, _ in found] == [0] * len(found), found
    return [said for _, said in found]


def test_processes_predict_what_files_do_and_each_value_is_charged_once(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = sites.copied(tmp_path)
    lead = here.start("predict", "--keep", "id,age")
    (looked,) = done(here.start("join", "--dry-run"))
    assert f"bank asks for {', '.join(asked(here))} of 100 rows, to predict for them; job: risk: predictions" in looked
    assert "Dry run: nothing was drawn, charged or written." in looked
    assert here.charged() == [2000]
    told, said = done(lead, here.start("join"))
    assert here.charged() == [2000, new(here)]
    assert "shop learned that both hold the same 100 ids, and which of its columns your model reads" in told
    assert "You learned that both hold the same 100 ids, and which of your columns its model reads" in said
    beside = json.loads((here.folder / "out.csv.privacy.json").read_bytes())
    assert [each["party"] for each in beside["released"]] == ["shop"]
    check(here, monkeypatch)
    assert run(["ledger", "verify", "ledger.db", "--receipt", "out.csv.privacy.json"], monkeypatch) == 0
    assert here.charged() == [2000, new(here), 40 * (5 - len(asked(here)))]


PARTNER = (
    "before save aligned", "after call release.desensitise:_enter", "after save released",
)  # fmt: skip
LEAD = (
    "after save aligned", "after receive Ranks", "after receive Sent", "after save released",
    "before call estimators.predictions:move_together", "after call estimators.predictions:move_together",
)  # fmt: skip


def killed(here: Sites, side: str, points: Sequence[str], *options: str) -> None:
    for point in points:
        code, said = ended(here.start(side, *options, dies=point))
        assert code == -signal.SIGKILL, f"{point}: {said}"


@pytest.mark.slow
def test_a_partner_that_is_killed_at_every_step_goes_on(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = sites.copied(tmp_path, wait=240.0)
    lead = here.start("predict", "--keep", "id,age")
    killed(here, "join", PARTNER)
    done(here.start("join"), lead)
    first, second, *rest = here.charged()
    assert (first, second) == (2000, new(here))
    assert set(rest) <= {0}  # what is drawn again is charged for nothing
    check(here, monkeypatch)


@pytest.mark.slow
def test_a_lead_that_is_killed_at_every_step_goes_on(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = sites.copied(tmp_path, wait_partner=240.0)
    partner = here.start("join")
    killed(here, "predict", LEAD, "--keep", "id,age")
    done(here.start("predict", "--keep", "id,age"), partner)
    assert here.charged() == [2000, new(here)]
    check(here, monkeypatch)


def test_a_lead_that_has_all_columns_needs_nobody_any_more(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = sites.copied(tmp_path)
    lead, partner = (
        here.start("predict", "--keep", "id,age", dies="before call vertical.joint:beside"),
        here.start("join", dies="before receive Done"),
    )
    assert [ended(each)[0] for each in (lead, partner)] == [-signal.SIGKILL] * 2
    said, _ = done(here.start("join"), here.start("predict", "--keep", "id,age"))
    assert "had left for bank before, with the same noise: nothing was drawn or charged" in said
    assert here.charged() == [2000, new(here)]
    check(here, monkeypatch)


def bounds(here: Sites) -> None:
    file = here.folder / "shop.toml"
    file.write_text(file.read_text().replace("upper = 19", "upper = 24"))


def other_rows(here: Sites) -> None:
    write_csv(csv.read_csv(here.folder / "shop.csv").slice(1), here.folder / "shop.csv")


REFUSED: list[tuple[Callable[[Sites], None], int, str, str]] = [
    (bounds, 4, "is integers 0 to 24 in 25 codes here, which is not the domain that the model was trained on",
        "is integers 0 to 24 in 25 codes here, which is not the domain that the model was trained on"),
    (other_rows, 5, "has 99 rows, where this party has 100", "has 100 rows, where this party has 99"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "code", "lead", "partner"), REFUSED, ids=["bounds", "rows"])
def test_what_cannot_be_is_refused_on_both_sides_and_charged_to_nobody(
    change: Callable[[Sites], None], code: int, lead: str, partner: str, sites: Sites, tmp_path: Path
) -> None:
    here = sites.copied(tmp_path)
    change(here)
    ends = [ended(each) for each in (here.start("predict"), here.start("join"))]
    assert [each for each, _ in ends] == [code, code], ends
    assert lead in ends[0][1].splitlines()[-1]
    assert partner in ends[1][1].splitlines()[-1]
    assert here.charged() == [2000]
    assert not (here.folder / "out.csv").exists()


def spoilt(name: str, change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
    return lambda folder: write_csv(change(csv.read_csv(folder / name)), folder / name)


def replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).write_text((folder / name).read_text().replace(old, new, 1))

    return spoil


MISTAKES: list[tuple[str, Callable[[Path], None], list[str], int, str]] = [
    ("no samples", spoilt("new.csv", lambda t: t.slice(0, 0)), [], 2, "column 'id' must name at least one row"),
    ("no column of its own", spoilt("new.csv", lambda t: t.drop_columns(["age"])), [], 2, "column 'age' must be in"),
    ("no ids", replaced("predict.toml", 'id = "id"', 'id = "customer"'), [], 2, "column 'customer' must be in"),
    ("a partner's column", spoilt("new.csv", lambda t: t.append_column("town", t["age"])), [], 2,
        "new.csv: column 'town' must not be in the table: shop holds it"),
    ("the keys of another", replaced("predict.toml", 'keys = "bank"', 'keys = "shop"'), [], 2,
        "keys must be those of 'bank', who leads this model; got 'shop'"),
    ("a setting that is none", replaced("predict.toml", "wait", "wayt"), [], 2, "unknown field `wayt`"),
    ("a column to keep that is not there", lambda _: None, ["--keep", "town"], 2, "column 'town' must be in the table"),
    ("files besides", lambda _: None, ["--with", "shop.parquet"], 2, "--partners sends for columns; --with and --key"),
    ("a model that was altered", replaced("model/statement.json", "bank", "bonk"), [], 1, "is not what was saved"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("spoil", "options", "code", "says"), [each[1:] for each in MISTAKES], ids=[each[0] for each in MISTAKES]
)
def test_a_mistake_is_one_line_before_anybody_is_waited_for(
    spoil: Callable[[Path], None],
    options: list[str],
    code: int,
    says: str,
    sites: Sites,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    here = sites.copied(tmp_path)
    spoil(tmp_path)
    monkeypatch.chdir(tmp_path)
    command = ["predict", "model", "new.csv", "out.csv", "--partners", "predict.toml", *options]
    assert run(command, monkeypatch) == code
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert says in said.err
    assert not (tmp_path / "out.csv").exists()
    assert here.left_over() == set()


def test_two_partners_train_and_predict_and_one_that_is_killed_comes_back(
    three: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In training the clinic dies while the shop is done; in prediction the lead does, when it has one of the two."""
    here, other = three.copied(tmp_path / "here"), three.copied(tmp_path / "memory")
    lead, shop, clinic = here.start("lead"), here.start("join"), here.start("clinic", dies="before send Sent")
    done(shop)
    assert ended(clinic)[0] == -signal.SIGKILL
    assert not (here.folder / "model").exists()
    done(here.start("clinic"), lead)
    assert load(here.folder / "model").model == load(trained(other).folder / "model").model
    assert (here.charged(), here.charged("clinic.db")) == ([2000], [800])
    here.bring_samples()
    lead, shop = here.start("predict", "--keep", "id,age", dies="after save 1-released"), here.start("join")
    assert ended(lead)[0] == -signal.SIGKILL
    lead, clinic = here.start("predict", "--keep", "id,age"), here.start("clinic")
    done(shop, clinic, lead)
    assert (here.charged(), here.charged("clinic.db")) == ([2000, new(here)], [800, new(here, "clinic")])
    check(here, monkeypatch, ("shop", "clinic"))


def test_on_request_two_partners_are_asked_again_each_for_its_own(three: Sites, tmp_path: Path) -> None:
    """The clinic dies when it is to answer, and comes back; the shop has been let go meanwhile."""
    more = 'thresholds = "on-request"'
    here, other = three.copied(tmp_path / "here", more=more), three.copied(tmp_path / "memory", more=more)
    lead, shop, clinic = here.start("lead"), here.start("join"), here.start("clinic", dies="before send Cuts")
    done(shop)
    assert ended(clinic)[0] == -signal.SIGKILL
    done(here.start("clinic"), lead)
    assert load(here.folder / "model").model == load(trained(other).folder / "model").model
    assert (here.charged(), here.charged("clinic.db")) == ([2000], [800])
    assert table("clinic").num_rows == 400
