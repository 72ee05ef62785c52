"""The `veilboost` command and how it ends: 0 done, 1 refuted or altered, 2 the user's mistake, 3 ours, 4 refused by
the policy, 5 another party's, or the line's, 130 interrupted.
"""

import logging
import os
import re
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

import veilboost
from veilboost.cli import audit, bench, certify, data, demo, doctor, init, keys, ledger, parties, study, train
from veilboost.cli import desensitise as desensitising
from veilboost.errors import EvidenceError, FileError, PeerError, RefusalError, UsageError, VeilboostError

_INTERRUPTED = 130

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Boosted trees across organisations that may not show each other their data. Every privacy figure is "
    "computed from the integers that are sampled, and an attack has tried to refute it.",
    epilog="Exit codes: 0 done, 1 an audit refuted its claim or a record was altered, 2 a mistake in the call or the "
    "data, 3 a failed check of our own, 4 refused by the policy or a budget, 5 another party or the line to "
    "it failed, 130 interrupted.",
)
app.command("certify")(certify.certify)
app.command("demo")(demo.demo)
app.command("desensitise")(desensitising.desensitise)
app.command("doctor")(doctor.doctor)
app.command("join")(parties.join)
app.command("lead")(parties.lead)
app.command("train")(train.train)
app.command("predict")(train.predict)
app.add_typer(audit.app, name="audit")
app.add_typer(bench.app, name="bench")
app.add_typer(data.app, name="data")
app.add_typer(init.app, name="init")
app.add_typer(keys.app, name="keys")
app.add_typer(ledger.app, name="ledger")
app.add_typer(study.app, name="study")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"veilboost {veilboost.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say on standard error what is being done.")] = False,
    log: Annotated[Path | None, typer.Option("--log", help="Say it in this file, with the time.")] = None,
) -> None:
    logger = logging.getLogger("veilboost")
    logger.setLevel(logging.INFO)
    if verbose:
        logger.addHandler(logging.StreamHandler())
    if log is not None:
        _check_log(log)
        file = logging.FileHandler(log, encoding="utf-8")
        file.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
        logger.addHandler(file)


def _check_log(log: Path) -> None:
    """Refuse to add to a file that is no log: it may be a key, a ledger or a table."""
    if log.is_file():
        with log.open("rb") as opened:
            start = opened.read(5)
        if start and not re.fullmatch(rb"\d{4}-", start):
            raise FileError(log, "is there already, and is no log")


def main() -> None:
    """Run the command line and exit; a mistake is one line on standard error, never a traceback.

    Arrow takes its memory from the system, unless the user says otherwise: its own allocator keeps some 100 MB more.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    sys.exit(_run())


def _run() -> int:
    try:
        code = app(standalone_mode=False)
    except TyperException as error:
        return _fail(error.format_message(), error.exit_code)
    except VeilboostError as error:
        return _ended(error)
    except BrokenPipeError:
        return _closed_pipe()
    except OSError as error:
        return _fail(f"{error.strerror}: {error.filename}" if error.filename else str(error), 2)
    except KeyboardInterrupt:
        return _fail("interrupted", _INTERRUPTED)
    if code == _INTERRUPTED:
        return _fail("interrupted", code)
    return code if isinstance(code, int) else 0


def _ended(error: VeilboostError) -> int:
    match error:
        case UsageError():
            return _fail(str(error), 2)
        case RefusalError():
            return _fail(f"refused: {error}", 4)
        case EvidenceError():
            return _fail(f"ALTERED: {error}", 1)
        case PeerError():
            return _fail(str(error), 5)
        case _:
            return _fail(f"a check of our own failed, nothing was released: {error}", 3)


def _fail(message: str, code: int) -> int:
    """Say in one line why the program ends; where a command was missing, its help has said so already.

    A message may quote a file: what would steer a terminal is not passed on.
    """
    if not message:
        return code
    line = "".join(each if each.isprintable() else "?" for each in " ".join(message.split()))
    sys.stderr.write(f"veilboost: {line}\n")
    return code


def _closed_pipe() -> int:
    """End quietly when the reader of our output has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
