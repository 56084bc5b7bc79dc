# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Runs one program on the privileged side.  This is no entry point."""

from collections.abc import Sequence
import contextlib
import dataclasses
import errno
import os
import signal
import subprocess

# Seconds for the pipes of a killed process group to close.  A child that has
# left the group may keep them open, and is not waited for.
_AFTERMATH = 5.0


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """The result of a program that ended by itself."""

    status: int  # exit status, negative for a signal
    stdout: str
    stderr: str
    pid: int = 0

    @property
    def messages(self) -> str:
        """The first lines of the output, for the operator."""
        lines = (self.stderr + '\n' + self.stdout).split('\n')
        # Daemons of FRR answer a question in JSON with an empty object while
        # another one does not run.
        messages = [line.strip() for line in lines
                    if line.strip() not in ('', '{}')]
        return '; '.join(messages[:3]) or 'no message'


def run(argv: Sequence[str], timeout: float, stdin: str = '') -> Result:
    """Run a program and wait for it, at most ``timeout`` seconds.

    The standard input is a file.  Since version 9, ``vtysh -f /dev/stdin``
    has one child for each daemon, and each child opens and reads the whole
    file.  From a pipe, each child would read only a part.

    The program has a session of its own, so that a kill also ends its
    children: wrappers and vtysh fork.

    :raises TimeoutError: when the program was killed because of ``timeout``
    :raises OSError: when the program cannot be started
    """
    with open(os.memfd_create('stdin'), 'w+b', buffering=0) as stdin_file:
        stdin_file.write(stdin.encode())
        stdin_file.seek(0)
        # The arguments are fixed words, checked names and configured values.
        process = subprocess.Popen(  # noqa: S603
            argv, stdin=stdin_file, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
            env={**os.environ, 'LC_ALL': 'C'})
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as error:
        _kill(process)
        raise TimeoutError(
            errno.ETIMEDOUT, f'"{argv[0]}" did not end within {timeout} s '
            f'and was killed') from error
    except BaseException:
        _kill(process)
        raise
    return Result(process.returncode, stdout.decode(errors='replace'),
                  stderr.decode(errors='replace'), process.pid)


def _kill(process: subprocess.Popen[bytes]) -> None:
    # The process is not reaped yet, so the id is still that of its group.
    os.killpg(process.pid, signal.SIGKILL)
    try:
        process.communicate(timeout=_AFTERMATH)
    except subprocess.TimeoutExpired:
        for pipe in filter(None, (process.stdout, process.stderr)):
            pipe.close()
        # On a machine without a free processor, the kernel may need longer to
        # end a killed program.  The caller hears of the limit all the same;
        # subprocess collects the program when it starts the next one.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_AFTERMATH)
