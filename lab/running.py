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
"""Which labs are running on this host, and how to reach them."""

import contextlib
import json
import os
import signal
import time

# Tells the program in the machine which file to make when it takes sessions.
VARIABLE = 'LAB_OPEN'


class NotRunning(Exception):
    """There is no such lab; the text says what there is."""


def _directory():
    base = os.environ.get('XDG_RUNTIME_DIR') or '/tmp'
    return os.path.join(base, 'ovn-network-agent-lab')


@contextlib.contextmanager
def announced(name, socket, argv):
    """Have this program's lab listed while the block runs.

    :param name: of the lab
    :param socket: path of the socket for sessions
    :param argv: what runs in it
    """
    directory = _directory()
    os.makedirs(directory, mode=0o700, exist_ok=True)
    path = os.path.join(directory, name + '.json')
    with open(path + '.new', 'w', encoding='utf-8') as opened:
        json.dump({'name': name, 'pid': os.getpid(), 'socket': socket,
                   'argv': list(argv), 'born': _born(os.getpid())}, opened)
    os.replace(path + '.new', path)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def marker(socket):
    """File beside a lab's socket that says that sessions are served."""
    return socket + '.open'


def _born(pid):
    """When a process started: a PID alone may have been used again."""
    try:
        with open('/proc/%d/stat' % pid, encoding='ascii') as opened:
            return opened.read().rpartition(')')[2].split()[19]
    except OSError:
        return None


def labs():
    """All running labs: list of dict; what has died is forgotten."""
    found = []
    directory = _directory()
    for entry in sorted(os.listdir(directory)
                        if os.path.isdir(directory) else ()):
        path = os.path.join(directory, entry)
        if not entry.endswith('.json'):
            continue
        try:
            with open(path, encoding='utf-8') as opened:
                one = json.load(opened)
        except (OSError, ValueError):
            continue
        if _born(one['pid']) == one['born']:
            found.append(one)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
    return found


def find(name=None):
    """The lab of that name, or the only one that can be entered.

    :raises NotRunning:
    """
    running = labs()
    chosen = [one for one in running if one['name'] == name or
              name is None and os.path.exists(marker(one['socket']))]
    if len(chosen) == 1:
        return chosen[0]
    names = ', '.join(one['name'] for one in running) or 'none'
    raise NotRunning('%s (running: %s)' % (
        'which lab? name one with --lab' if chosen else
        'there is no such lab, or not one that can be entered', names))


def end(one, timeout=30):
    """End a lab and wait until it is gone."""
    os.kill(one['pid'], signal.SIGTERM)
    deadline = time.monotonic() + timeout
    while _born(one['pid']) == one['born']:
        if time.monotonic() > deadline:
            raise NotRunning('process %d does not end' % one['pid'])
        time.sleep(0.05)
