"""A slow line that breaks, or swallows what is sent: the job ends with the same model, charged for once."""

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sites import Sites
from test_jobs import ON_REQUEST, in_memory
from threads import both, check

from relay import Relay, relay
from veilboost.errors import LineError
from veilboost.vertical import joining
from veilboost.vertical.plans import LeadPlan, load_plan
from veilboost.wire import parse_address

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Sites:
    return Sites.settled(tmp_path_factory.mktemp("sites"))


@contextmanager
def relayed(here: Sites, *, delay: float = 0, rate: float = 1e12) -> Iterator[Relay]:
    """Put a relay between the two."""
    target = parse_address(load_plan(here.folder / "job.toml", LeadPlan).listen)
    with relay(target, delay=delay, rate=rate) as line:
        file = here.folder / "partner.toml"
        file.write_text(file.read_text().replace(f"localhost:{target[1]}", f"localhost:{line.address[1]}"))
        yield line


def test_a_slow_line_that_breaks_at_any_byte_ends_with_the_same_model(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "_PAUSE", 0.1)
    here = sites.copied(tmp_path / "here", more=ON_REQUEST)
    with relayed(here, delay=0.005, rate=2e5) as line:
        drops = [random.randrange(16_000) for _ in range(8)]
        line.drops += drops
        ends = both(here)
    assert [end.error for end in ends] == [None, None], drops
    broken = [said for said in ends[1].said if said.endswith("; dialling again")]
    assert len(broken) >= 8 - len(line.drops) - 1, (drops, ends)
    check(here, in_memory(sites.copied(tmp_path / "memory", more=ON_REQUEST)))


@pytest.mark.parametrize("after", [2_000, 9_500])
def test_a_line_that_swallows_all_ends_both_in_time_and_they_go_on(after: int, sites: Sites, tmp_path: Path) -> None:
    """In the handshake, and among the columns: each names the other, what did not come, and how to go on."""
    here = sites.copied(tmp_path / "here", wait=3.0, wait_partner=3.0)
    with relayed(here) as line:
        line.drops += [-after] * 100
        ends = both(here)
        assert not (here.folder / "model").exists()
        for end, other in zip(ends, ("shop", "bank"), strict=True):
            assert isinstance(end.error, LineError)
            assert str(end.error).startswith(f"party '{other}' "), end
            assert str(end.error).endswith("; to go on, start the same command again")
        assert any(
            re.search(r"(did not dial|sent no \S+|did not take \S+) within 3 seconds", f"{each}") for each in ends
        )
        line.drops.clear()
        assert [end.error for end in both(here)] == [None, None]
    check(here, in_memory(sites.copied(tmp_path / "memory")))
