"""The check of the core install's size: it passes here, and it can fail."""

import subprocess
import sys
from pathlib import Path

import pytest

REQUIREMENTS = Path(__file__).parent.parent / "requirements"


def size(limit: str, *files: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(REQUIREMENTS / "size.py"), limit, *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_core_install_stays_under_its_limit() -> None:
    found = size("600", REQUIREMENTS / "core.txt", REQUIREMENTS / "build.txt")
    assert (found.returncode, found.stderr) == (0, "")
    assert "llvmlite" in found.stdout
    assert float(found.stdout.splitlines()[-1].split()[0]) > 400


def test_a_core_install_above_the_limit_fails() -> None:
    found = size("400", REQUIREMENTS / "core.txt", REQUIREMENTS / "build.txt")
    assert found.returncode == 1
    assert "more than 400" in found.stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("no-such-distribution==1.0 \\", "no-such-distribution==1.0 is not installed"),
        ("numpy==1.0", "is installed, not numpy==1.0"),
    ],
)
def test_what_is_not_installed_is_not_measured(line: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "core.txt").write_text(f"{line}\n    --hash=sha256:00\n# a comment\n")
    found = size("600", tmp_path / "core.txt")
    assert found.returncode == 1
    assert said in found.stderr


def test_what_does_not_apply_here_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "core.txt").write_text("no-such-distribution==1.0 ; sys_platform == 'no such system'\n")
    assert size("600", tmp_path / "core.txt").returncode == 0
