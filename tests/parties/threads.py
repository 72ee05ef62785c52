"""Both sides of a job in this process, each in a thread, over real TLS: for many jobs, and for short time-outs."""

import importlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from sites import Sites

from veilboost.errors import VeilboostError
from veilboost.trees import StockModel
from veilboost.vertical.folder import load
from veilboost.vertical.plans import LeadPlan, PartnerPlan, load_plan

_PATIENCE = 120


@dataclass
class End:
    """How one side ended, and what it said on the way."""

    error: VeilboostError | None = None
    said: list[str] = field(default_factory=list)


def both(here: Sites) -> tuple[End, End]:
    """Let lead and partner do the job of their files, and return how each ended; neither may hang."""
    ends = End(), End()
    sides = (("lead", LeadPlan, "job.toml"), ("join", PartnerPlan, "partner.toml"))
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(_run, here, end, *side) for end, side in zip(ends, sides, strict=True)]
        for each in running:
            each.result(_PATIENCE)
    return ends


def _run(here: Sites, end: End, name: str, kind: Any, file: str) -> None:
    module = importlib.import_module({"lead": "veilboost.vertical.leading", "join": "veilboost.vertical.joining"}[name])
    try:
        getattr(module, name)(load_plan(here.folder / file, kind), tell=end.said.append)
    except VeilboostError as error:
        end.error = error


def check(here: Sites, expected: StockModel) -> None:
    """Both have ended well: the model is that of the same job in memory, each value was charged once, all is tidy."""
    assert load(here.folder / "model").model == expected
    first, *rest = here.charged()
    assert (first, set(rest)) == (2000, {0} if rest else set())
    assert here.left_over() == set()
