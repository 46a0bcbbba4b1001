"""`python -m infra.local.bound PARENT MODULE ARGUMENTS`: run a module that ends with the process that started it.

However that process ends, kill -9 included, this one gets a SIGTERM: from the kernel where it can (Linux), else from a
thread that waits for the end of standard input, which has to be a pipe of the parent's.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
import threading

_PR_SET_PDEATHSIG = 1  # prctl(2)


def end_with(parent: int) -> None:
    """Let this process end with its parent, which may have ended already."""
    if sys.platform != "linux":
        end_with_input()
    elif ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM) or os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def end_with_input() -> None:
    """Let this process end with its standard input."""

    def wait() -> None:
        while os.read(0, 1 << 10):
            continue
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True, name="parent").start()


def main() -> None:
    """Do what the command line says."""
    parent, module, *arguments = sys.argv[1:]
    end_with(int(parent))
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
