"""Other processes: how much memory one took."""

import os
import subprocess
import sys


def peak_memory(started: "subprocess.Popen[bytes]") -> float:
    """Wait until a process has ended well, and return the most memory, in MB, that it held.

    A child inherits the peak of its parent, so start it while this process is small.
    """
    _, status, usage = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise subprocess.CalledProcessError(started.returncode, started.args)
    return usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
