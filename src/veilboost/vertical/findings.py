"""What an examination finds, one line for each check: all is well, a warning, or a problem and what to do."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from veilboost.errors import VeilboostError

State = Literal["ok", "warning", "problem"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What one check found."""

    check: str
    state: State
    says: str


@dataclass
class Findings:
    """What was found so far; each line is told at once."""

    tell: Callable[[Finding], None] = lambda _finding: None
    lines: list[Finding] = field(default_factory=list)

    def say(self, check: str, says: str, state: State = "ok") -> None:
        """Add a line."""
        self.lines.append(Finding(check=check, state=state, says=says))
        self.tell(self.lines[-1])

    @contextmanager
    def looking(self, check: str) -> Iterator[None]:
        """Take what is raised for what the check found."""
        try:
            yield
        except VeilboostError as error:
            self.say(check, str(error), "problem")
        except OSError as error:
            said = error.strerror or type(error).__name__
            self.say(check, f"{error.filename}: {said}" if error.filename else said, "problem")

    @property
    def ill(self) -> bool:
        """Whether there is any problem."""
        return any(each.state == "problem" for each in self.lines)
