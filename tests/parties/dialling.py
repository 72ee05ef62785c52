"""A partner in a process of its own: it dials a lead, and answers with what its simulated door lets out.

Called with the folder of its keys, the lead's port, its name, and the job's epsilon.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "vertical"))

from talking import door, people

from veilboost.errors import VeilboostError
from veilboost.vertical import opboost
from veilboost.wire import dial, load_party


def main(keys: str, port: str, name: str, epsilon: str) -> int:
    try:
        held = load_party(Path(keys))
        with dial(held, "lead", ("localhost", int(port)), opboost.MESSAGES, patience=30) as line:
            opboost.partner(line, door(name, float(epsilon), people()))
    except VeilboostError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
