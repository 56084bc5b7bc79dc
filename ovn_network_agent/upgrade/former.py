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

"""Whether the original program is on this node, running or installed."""

import os
import typing

from ovn_network_agent.diagnosis.node import check

# Where the package and the manual of the original put it.
PLACES = ('/usr/bin/ovn-network-agent', '/usr/local/bin/ovn-network-agent')
# The original is an executable file; this agent is a script of Python.
_MAGIC = b'\x7fELF'


class Former(typing.NamedTuple):
    """The original program on this node.

    :ivar running: tuple of process ids
    :ivar installed: tuple of paths
    """

    running: tuple
    installed: tuple


def look(agents, places=PLACES):
    """Look for the original program.

    :param agents: tuple of :class:`running.Agent`
    :param places: paths where it may be installed
    :returns: :class:`Former`
    """
    return Former(
        tuple(one.pid for one in agents if is_executable(
            f'/proc/{one.pid}/exe') and not _is_python(one.pid)),
        tuple(path for path in places if is_executable(path)))


def is_executable(path):
    """Whether a file is in the format of Linux's executable files.

    :param path: str
    :returns: bool, False when the file cannot be read
    """
    try:
        with open(path, 'rb') as opened:
            return opened.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _is_python(pid):
    try:
        return 'python' in os.path.basename(os.readlink(f'/proc/{pid}/exe'))
    except OSError:
        # The process has ended meanwhile.
        return True


def judge(found):
    """The verdict on the original program.

    :param found: :class:`Former`
    :returns: iterator of :class:`check.Said`
    """
    for pid in found.running:
        yield check.broken(
            f'the original program runs as process {pid:d}',
            'stop the original before the first start of this agent: each '
            'would undo what the other does')
    for path in found.installed:
        yield check.warn(
            f'{path} is the original program, whose unit has the name of '
            'this agent\'s unit',
            'remove the package of the original while the original is '
            'stopped, and then install the unit of this agent')
    if not found.running and not found.installed:
        yield check.ok('the original program is not on this node')
