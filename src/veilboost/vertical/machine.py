"""What a job needs of its machine: keys that hold, a clock that is right, libraries that load, room on the disk."""

import fcntl
import os
import platform
import shutil
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path

from cryptography.x509 import Certificate

from veilboost.errors import FileError
from veilboost.files import check_folder
from veilboost.vertical.findings import Findings
from veilboost.vertical.meeting import MESSAGES
from veilboost.wire import PROTOCOL, PartyKeys, load_party
from veilboost.wire.certificates import called, now, read_certificates, untimely
from veilboost.wire.hello import hello
from veilboost.wire.party_keys import CERTIFICATE, TRUSTED

SOON = timedelta(weeks=3)
"""How long before its end a certificate is spoken of."""
_SLACK = timedelta(minutes=5)
_LEAST = 64 << 20
_NEEDED = ("cryptography", "numba", "pyarrow")
_BOOSTING = ("xgboost", "lightgbm")


def keys(found: Findings, folder: Path, check: Callable[[PartyKeys], None]) -> PartyKeys | None:
    """Look at a party's keys: whether they are there, private, in time, trusted, not denied, and fit for its side."""
    held = None
    with found.looking("keys"):
        held = load_party(folder)
        check(held)
        first = min((*held.chain, *held.trusted), key=lambda each: each.not_valid_after_utc)
        last = first.not_valid_after_utc
        says = f"{held.name!r}, certificate {held.fingerprint}, valid until {last:%Y-%m-%d}"
        if last - now() > SOON:
            found.say("keys", says)
        else:
            rule = f"write the request anew (veilboost keys party {held.name}) and have it signed before"
            found.say("keys", f"the certificate of {called(first)} ends on {last:%Y-%m-%d}: {rule}", "warning")
    return held


def clock(found: Findings, folder: Path, written: Iterable[tuple[str, datetime]], doubt: str | None = None) -> None:
    """Compare the clock with the dates of certificates, with when things were ``written``, and with a ``doubt``."""
    with found.looking("clock"):
        at = f"it is {now():%Y-%m-%d %H:%M} UTC by this machine's clock"
        dates = [untimely(each) for name in (CERTIFICATE, TRUSTED) for each in _certificates(folder / name)]
        problem = next((f"a certificate {each}" for each in dates if each), doubt)
        later = max(written, key=lambda each: each[1], default=None)
        if later is not None and later[1] > now() + _SLACK:
            problem = f"{at}, and {later[0]} was written at {later[1]:%Y-%m-%d %H:%M} UTC"
        if problem is None:
            found.say("clock", at)
        else:
            found.say("clock", f"{problem}; see whether the clock is right", "problem")


def _certificates(file: Path) -> Sequence[Certificate]:
    return read_certificates(file) if file.exists() else []


def modified(*files: Path) -> list[tuple[str, datetime]]:
    """Return when files were last written."""
    return [(str(file), datetime.fromtimestamp(file.stat().st_mtime, UTC)) for file in files]


def versions(found: Findings, backend: str | None) -> None:
    """Load the libraries that a job calls, and say all versions; a lead needs its ``backend`` too."""
    with found.looking("versions"):
        said = hello(MESSAGES)
        ours = ", ".join(f"{name}/{version}" for name, version in said.messages.items())
        loaded = {name: _loaded(name) for name in (*_NEEDED, *_BOOSTING)}
        rest = ", ".join(f"{name} {version}" for name, (version, _) in loaded.items())
        found.say(
            "versions",
            f"veilboost {said.program}, protocol {PROTOCOL} ({ours}); Python {platform.python_version()}, {rest}",
        )
        for name, (_, problem) in loaded.items():
            if problem:
                needed = name in _NEEDED or name == backend
                found.say("versions", f"{name} cannot be loaded: {problem}", "problem" if needed else "warning")


def _loaded(name: str) -> tuple[str, str | None]:
    """Return a library's version, and why it cannot be loaded."""
    try:
        return str(import_module(name).__version__), None
    except (ImportError, OSError) as error:  # of OSError: a library of the system that is not there
        return "missing", " ".join(str(error).split())


def room(found: Findings, what: str, place: Path, need: int) -> None:
    """Look whether a folder can be written to, or made, and whether there is room for about so many bytes."""
    check, need = f"disk ({what})", max(need, _LEAST)
    with found.looking(check):
        folder = next(each for each in (place, *place.absolute().parents) if each.exists())
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            raise FileError(folder, "must be a folder in which the user who runs this can write")
        if place.is_dir():
            check_folder(place)
        free = shutil.disk_usage(folder).free
        says = f"{place}, {_amount(free)} free; up to about {_amount(need)} needed"
        if free < need:
            found.say(check, f"{says}: make room, or name another place", "problem")
        else:
            found.say(check, says, "warning" if free < 2 * need else "ok")


def _amount(size: int) -> str:
    """Return a size in words.

    >>> _amount(64 << 20), _amount(3 << 40)
    ('64 MB', '3,072 GB')
    """
    return f"{size >> 30:,} GB" if size >> 30 > 9 else f"{size >> 20:,} MB"


def busy(state: Path) -> bool:
    """Whether another process works on the job whose steps are kept in this folder."""
    if not state.is_dir():
        return False
    folder = os.open(state, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(folder)
    return False
