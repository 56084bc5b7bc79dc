# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Runs one program on the privileged side.  This is no entry point."""

from collections.abc import Sequence
import contextlib
import errno
import os
import signal
import subprocess
import typing

# Seconds for a killed group's pipes; a child that left it may hold them.
_AFTERMATH = 5.0


class Result(typing.NamedTuple):
    """The result of a program that ended by itself."""

    status: int  # exit status, negative for a signal
    stdout: str
    stderr: str
    pid: int = 0

    @property
    def messages(self) -> str:
        """The first lines of the output, for the operator."""
        lines = (self.stderr + '\n' + self.stdout).split('\n')
        # what FRR's daemons print while another one does not run
        messages = [line.strip() for line in lines
                    if line.strip() not in ('', '{}')]
        return '; '.join(messages[:3]) or 'no message'


def run(argv: Sequence[str], timeout: float, stdin: str = '') -> Result:
    """Run a program and wait for it, at most ``timeout`` seconds.

    Standard input is a file: ``vtysh -f /dev/stdin`` since version 9 has a
    child for each daemon, which would read only a part of a pipe.  The program
    has a session, so that a kill also ends the children of wrappers and vtysh.

    :raises TimeoutError: when the program was killed because of ``timeout``
    :raises OSError: when the program cannot be started
    """
    with open(os.memfd_create('stdin'), 'w+b', buffering=0) as stdin_file:
        stdin_file.write(stdin.encode())
        stdin_file.seek(0)
        # fixed words, checked names and configured values
        try:
            process = subprocess.Popen(  # noqa: S603
                argv, stdin=stdin_file, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, start_new_session=True,
                env={**os.environ, 'LC_ALL': 'C'})
        except FileNotFoundError as error:
            # The wall passes the text of an error, and not its file.
            raise FileNotFoundError(
                error.errno, f'the program {argv[0]} is not installed'
            ) from error
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
    # not reaped yet, so the id is still that of its group
    os.killpg(process.pid, signal.SIGKILL)
    try:
        process.communicate(timeout=_AFTERMATH)
    except subprocess.TimeoutExpired:
        for pipe in filter(None, (process.stdout, process.stderr)):
            pipe.close()
        # Without a free processor, the kernel may need longer; subprocess
        # collects the program at its next start.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_AFTERMATH)
