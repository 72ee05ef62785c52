"""What a lead's job file and a partner's file say: frozen, checked, every path taken from where the file lies."""

import hashlib
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from veilboost.data import Dialect
from veilboost.errors import SettingError, blaming
from veilboost.settings import convert, positive, printable, read_toml, refuse_blanks, whole
from veilboost.trees import BoostingSettings
from veilboost.trees.settings import Backend, Parameter, Task
from veilboost.vertical.columns import Nominal
from veilboost.vertical.job import Thresholds
from veilboost.wire import parse_address

FORMAT = 1
BLANKS = ("<your name>", "<lead>", "<partner>", "<column>", "<host>", "<purpose>", "<job>")
"""What an example leaves to be filled in."""
_ANYWHERE = "0.0.0.0"  # noqa: S104 - partners dial from other machines; only their certificates let them in
_LONGEST_WAIT = 30 * 24 * 3600.0

Way = Literal["already-aligned"]
"""How rows find each other; private set intersection has its place here."""
Samples = Literal["clear", "desensitised"]


class Boosting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the trees are grown; ``parameters`` are the library's own."""

    backend: Backend = "xgboost"
    trees: int = 80
    depth: int = 3
    learning_rate: float = 0.1
    early_stopping: int | None = None
    parameters: dict[str, Parameter] = {}
    threads: int | None = None
    seed: int = 0

    def settings(self, task: Task, classes: int | None) -> BoostingSettings:
        """Return these settings for a task."""
        return BoostingSettings(
            task=task,
            backend=self.backend,
            n_trees=self.trees,
            max_depth=self.depth,
            learning_rate=self.learning_rate,
            early_stopping=self.early_stopping,
            parameters=self.parameters,
            classes=classes,
            threads=self.threads,
            seed=self.seed,
        )


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one partner is asked for: without a list, for all that its policy lets out for the purpose."""

    columns: tuple[str, ...] | None = None


class Meeting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As whom a lead meets its partners, where, and what they are told."""

    format: int
    name: str
    purpose: str
    id: str
    rows: Way = "already-aligned"
    keys: str = "keys"
    listen: str = _ANYWHERE
    wait: float = 3600.0
    state: str = ""

    def __post_init__(self) -> None:
        for name in ("name", "purpose", "id"):
            printable(name, getattr(self, name))
        _check_wait(self.wait)
        parse_address(self.listen)


class PredictPlan(Meeting, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A lead's file for predictions: its partners, and what each is asked for, are the model's."""


class LeadPlan(Meeting, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A lead's job file."""

    table: str
    label: str
    partners: dict[str, Asked]
    weight: str | None = None
    leave_out: tuple[str, ...] = ()
    task: Literal["auto", "classification", "regression"] = "auto"
    thresholds: Thresholds = "up-front"
    nominal: Nominal = "one-hot"
    bins: int = 1024
    sharpen: bool | None = None
    samples: Samples = "clear"
    model: str = "model"
    boosting: Boosting = Boosting()
    csv: Dialect | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        printable("label", self.label)
        if not self.partners:
            raise SettingError("partners", "must name at least one", {})
        for party, each in self.partners.items():
            if each.columns is not None and (not each.columns or len(set(each.columns)) < len(each.columns)):
                raise SettingError(f"partners.{party}.columns", "must be one or more, each once", each.columns)
        if self.sharpen and self.thresholds != "up-front":
            raise SettingError("sharpen", "needs thresholds = 'up-front': ranks alone cannot be noised again", True)
        whole("bins", self.bins, 2, 2**24)
        self.boosting.settings("binary", None)

    def sharpens(self, task: Task) -> bool:
        """Return whether to sharpen: by itself for a number, where samples to predict are as clear as raw columns."""
        if self.sharpen is not None:
            return self.sharpen
        return task == "regression" and self.thresholds == "up-front" and self.samples == "clear"

    @property
    def digest(self) -> str:
        """The identity of what is to be done: not of where, or of how long others are waited for."""
        place: dict[str, Any] = {"model": "", "keys": "", "listen": _ANYWHERE, "wait": 1.0, "state": ""}
        return hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(self, **place))).hexdigest()


class PartnerPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A partner's file: whom to dial, and what the policy is about."""

    format: int
    lead: str
    address: str
    policy: str
    table: str
    id: str
    known_as: str | None = None
    jobs: tuple[str, ...] | None = None
    keys: str = "keys"
    wait: float = 3600.0
    state: str = ""

    def __post_init__(self) -> None:
        for name in ("lead", "id"):
            printable(name, getattr(self, name))
        _check_wait(self.wait)
        parse_address(self.address)


Plan = TypeVar("Plan", LeadPlan, PredictPlan, PartnerPlan)


def load_plan(file: Path, kind: type[Plan]) -> Plan:
    """Read a plan; an unknown key, or one that breaks its rule, is refused by name."""
    with blaming(file):
        _, raw = read_toml(file)
        refuse_blanks(raw, BLANKS)
        plan = convert(raw, kind)
        if plan.format != FORMAT:
            raise SettingError("format", f"must be {FORMAT}, the only one known", plan.format)
        return _placed(plan, file)


def _placed(plan: Plan, file: Path) -> Plan:
    """Return a plan with its paths taken from the folder of its ``file``."""
    found: dict[str, Any] = {"state": str(file.parent / (plan.state or f"{file.stem}.state"))}
    for name in ("model", "keys", "policy", "table"):
        given = getattr(plan, name, None)
        if given is not None:
            found[name] = given if "://" in given else str(file.parent / given)
    return msgspec.structs.replace(plan, **found)


def _check_wait(wait: float) -> None:
    if positive("wait", wait) > _LONGEST_WAIT:
        raise SettingError("wait", f"must be at most {_LONGEST_WAIT:g} seconds", wait)
