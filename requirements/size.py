"""Say how much disk the core install takes, and fail above a limit: `size.py 600 requirements/core.txt ...`.

Counts the files of the distributions that the requirements pin and of what venv itself brings, so that it may run where
more is installed. Megabytes as `du -m` counts them.
"""

import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

_BLOCK = 4096
_WRITTEN = 20
"""Megabytes of byte code, directories and the program itself; 16 were measured after `make demo`."""


def pinned(path: Path) -> Iterator[Requirement]:
    """Yield the requirements of a file that apply here."""
    for line in path.read_text().splitlines():
        if line[:1].strip("#") and not line.startswith(" "):
            requirement = Requirement(line.removesuffix("\\").strip())
            if requirement.marker is None or requirement.marker.evaluate():
                yield requirement


def megabytes(requirement: Requirement) -> float:
    """Return the size of what is installed for ``requirement``, or end where something else is."""
    try:
        found = importlib.metadata.distribution(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        sys.exit(f"{requirement} is not installed")
    if not requirement.specifier.contains(found.version, prereleases=True):
        sys.exit(f"{requirement.name} {found.version} is installed, not {requirement}")
    paths = [Path(str(found.locate_file(file))) for file in found.files or () if file.suffix != ".pyc"]
    return sum(-(-path.stat().st_size // _BLOCK) * _BLOCK for path in paths if path.exists()) / 2**20


def main(limit: float, files: list[Path]) -> None:
    """Print the sizes, largest first, and end with an error above ``limit``."""
    brought = ["pip", "setuptools"] if sys.version_info < (3, 12) else ["pip"]
    wanted = [requirement for file in files for requirement in pinned(file)]
    sizes = {each.name: megabytes(each) for each in [*wanted, *map(Requirement, brought)]}
    for name, size in sorted(sizes.items(), key=lambda item: -item[1])[:12]:
        sys.stdout.write(f"{size:6.1f} MB  {name}\n")
    total = sum(sizes.values()) + _WRITTEN
    sys.stdout.write(f"{total:6.1f} MB  in all, {_WRITTEN} of them written at the first run; the limit is {limit:g}\n")
    if total > limit:
        sys.exit(f"the core install takes {total:.0f} MB, more than {limit:g}: see docs/decisions/0008-own-svg.md")


if __name__ == "__main__":
    main(float(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
