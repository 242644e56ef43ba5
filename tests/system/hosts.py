"""What tests of runs over several machines share."""

import contextlib
import ctypes
import pathlib
import subprocess
import sys

from rankwire import BINARY

# Nobody is bound to a core.
MPIRUN = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "--mca", "pml", "ob1"]
CLONE_NEWTIME = 0x80  # linux/sched.h


def with_mpi():
    """Whether the program can be part of such a run at all."""
    return b"MPI_Init_thread" in pathlib.Path(BINARY).read_bytes()


def command_lines():
    """Of all processes, by number."""
    lines = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            lines[int(process.name)] = (process / "cmdline").read_bytes().split(b"\0")
    return lines


def with_clock_ahead(nanoseconds):
    """What starts a command whose steady clock is ahead by so much, or nothing where the kernel or our rights do not
    allow that."""
    prefix = [sys.executable, "-B", __file__, str(nanoseconds)]
    return prefix if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0 else []


def main(nanoseconds, *command):
    """In a time namespace of its own, whose first process is the command: after that its clock is fixed."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWTIME) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    seconds, rest = divmod(int(nanoseconds), 10**9)
    pathlib.Path("/proc/self/timens_offsets").write_text(f"monotonic {seconds} {rest}\n", encoding="ascii")
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
