# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Runs one program on the root side, with limits.  Not an entry point."""

import dataclasses
import errno
import os
import signal
import subprocess

# For the pipes of a killed process group to close; a child that left the
# group may hold them, and is not waited for.
_AFTERMATH = 5.0


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What a program that ended by itself left.

    :ivar status: exit status, negative for a signal
    :ivar stdout: its output, alone
    :ivar stderr: its messages, alone
    :ivar pid: process id that it had
    """

    status: int
    stdout: str
    stderr: str
    pid: int = 0

    @property
    def messages(self):
        """The first lines of what it said, for the operator."""
        lines = (self.stderr + '\n' + self.stdout).split('\n')
        said = [line.strip() for line in lines if line.strip()]
        return '; '.join(said[:3]) or 'no message'


def run(argv, timeout, stdin=''):
    """Run a program and wait for it, at most ``timeout`` seconds.

    Its standard input is a file, not a pipe: since version 9 each child of
    ``vtysh -f /dev/stdin``, one for each daemon, opens it for itself and
    reads all of it; of a pipe each would get some part.

    It gets a session of its own, so that it can be killed with all its
    children: wrappers fork, and vtysh does too.

    :param argv: list of str, the program and its arguments, no shell
    :param timeout: seconds
    :param stdin: text for its standard input
    :returns: :class:`Result`
    :raises TimeoutError: when it was killed because of ``timeout``
    :raises OSError: when it cannot be started
    """
    with open(os.memfd_create('stdin'), 'w+b', buffering=0) as given:
        given.write(stdin.encode())
        given.seek(0)
        # Built from fixed words, checked names and the configuration.
        process = subprocess.Popen(  # noqa: S603
            argv, stdin=given, stdout=subprocess.PIPE,
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


def _kill(process):
    # The process is not reaped yet, so the id is still that of its group.
    os.killpg(process.pid, signal.SIGKILL)
    try:
        process.communicate(timeout=_AFTERMATH)
    except subprocess.TimeoutExpired:
        for pipe in (process.stdout, process.stderr):
            pipe.close()
        process.wait(_AFTERMATH)
