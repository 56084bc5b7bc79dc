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

"""The program that has two gateways serve at once; stdlib only.

It pauses the ovn-controller of this node, so that it keeps its flows and
claims nothing, and lets BFD end in the tunnels to the other gateways alone.
To them this one is dead, and the next one takes over; the compute nodes still
send here, until the order in the Northbound database changes.

Then it waits: for the end of its standard input, for a signal, or until its
time is up.  Whoever has started it may die.  It restores BFD, and lets
ovn-controller go on when that is up, which else took this gateway for the only
one alive.

One argument, JSON: ``database`` (unix: or tcp: remote of the local
Open_vSwitch database), ``rundir`` (of ovn-controller), ``mark`` (key in
external_ids as long as this lasts), ``addresses`` (of the tunnels of the other
gateways; empty: only undo what another one has left), ``limit`` (seconds).
Says ``begun``, or what is wrong.
"""

import contextlib
import glob
import json
import os
import select
import signal
import socket
import sys
import time

# Seconds that a server may take to answer.
PATIENCE = 3.0
# Seconds for ovs-vswitchd to take notice, and for BFD to come up again: both
# ends begin with one packet a second (RFC 5880, 6.8.3).
NOTICE, UP = 2.0, 6.0
_INTERVAL = 0.02
# Milliseconds between two BFD packets: the first one says that the session
# is down, the next one would begin it anew.
_SILENCE = '60000'
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Failed(Exception):
    """It cannot be done; the text says why."""


class NotOurs(Failed):
    """Somebody else is at it; nothing is to be undone."""


class Database:
    """The local Open_vSwitch database; each transaction by itself.

    :param remote: 'unix:PATH' or 'tcp:HOST:PORT'
    """

    def __init__(self, remote):
        self._remote = remote

    def transact(self, *operations):
        """Results of the operations, a list of dict (RFC 7047, 5.2)."""
        answer = _call(self._address(), 'transact',
                       ['Open_vSwitch', *operations])
        for result in answer:
            if result and result.get('error'):
                raise Failed('%s: %s %s' % (self._remote, result['error'],
                                            result.get('details', '')))
        return answer

    def _address(self):
        kind, _colon, where = self._remote.partition(':')
        if kind == 'unix':
            return where
        host, _colon, port = where.rpartition(':')
        if kind != 'tcp' or not port.isdigit():
            raise Failed('%s is neither unix: nor tcp:' % self._remote)
        return host.strip('[]'), int(port)

    def mark(self, key, value):
        """Set a key of external_ids, or remove it where value is ''."""
        changes = [['external_ids', 'delete', ['set', [key]]]]
        if value:
            changes.append(['external_ids', 'insert', ['map', [[key,
                                                                value]]]])
        self.transact({'op': 'mutate', 'table': 'Open_vSwitch', 'where': [],
                       'mutations': changes})

    def tunnels(self, addresses):
        """OVN's tunnels to these addresses: dict of UUID to its bfd."""
        found = {}
        for address in addresses:
            rows = self.transact({
                'op': 'select', 'table': 'Interface',
                'columns': ['_uuid', 'bfd'], 'where': [
                    ['options', 'includes', ['map', [
                        ['remote_ip', address], ['key', 'flow']]]],
                    ['bfd', 'includes', ['map', [['enable', 'true']]]]]})
            found.update({row['_uuid'][1]: dict(row['bfd'][1])
                          for row in rows[0]['rows']})
        return found

    def set_bfd(self, settings):
        """Write the column bfd: dict of UUID to dict."""
        self.transact(*({
            'op': 'update', 'table': 'Interface', 'where': _is(uuid),
            'row': {'bfd': ['map', sorted(map(list, bfd.items()))]}}
            for uuid, bfd in settings.items()))

    def status(self, uuids):
        """The column bfd_status of interfaces, a list of dict."""
        answers = self.transact(*({
            'op': 'select', 'table': 'Interface', 'where': _is(uuid),
            'columns': ['bfd_status']} for uuid in uuids))
        return [dict(row['bfd_status'][1]) for answer in answers
                for row in answer['rows']]


class Controller:
    """The ovn-controller of this node.

    :param rundir: directory of its control socket
    """

    def __init__(self, rundir):
        self._rundir = rundir

    def call(self, command):
        """What it answers to a command, text."""
        reasons = []
        for path in glob.glob(os.path.join(
                glob.escape(self._rundir), 'ovn-controller.*.ctl')):
            try:
                return _call(path, command, [])
            except OSError as e:
                # That of one which was killed.
                reasons.append('%s: %s' % (path, e.strerror or e))
        raise Failed('; '.join(reasons) or 'no ovn-controller has a control '
                     'socket in %s' % self._rundir)


def _is(uuid):
    return [['_uuid', '==', ['uuid', uuid]]]


def _call(address, method, params):
    """The result of one request of JSON-RPC 1.0.

    :raises Failed: when it is refused
    :raises OSError: when nobody answers
    """
    family = socket.AF_UNIX if isinstance(address, str) else (
        socket.AF_INET6 if ':' in address[0] else socket.AF_INET)
    with socket.socket(family, socket.SOCK_STREAM) as opened:
        opened.settimeout(PATIENCE)
        opened.connect(address)
        opened.sendall(json.dumps({'id': 0, 'method': method,
                                   'params': params}).encode())
        received = b''
        while True:
            data = opened.recv(65536)
            if not data:
                raise ConnectionResetError('closed without an answer')
            received += data
            with contextlib.suppress(ValueError):
                answer = json.loads(received)
                break
    if answer.get('error') is not None:
        raise Failed('%s: %s' % (method, answer['error']))
    return answer['result']


def _until(condition, seconds):
    """Whether it became true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_INTERVAL)
    return True


class Keeper:
    """What has to be undone, in the order in which it was done.

    :param options: dict, see the module
    """

    def __init__(self, options):
        self._mark = options['mark']
        self._addresses = options['addresses']
        self._database = Database(options['database'])
        self._controller = Controller(options['rundir'])
        self._tunnels = {}

    def begin(self):
        """Have both serve.

        :raises Failed, OSError: when that cannot be; then :meth:`end` all
            the same
        """
        if self._controller.call('debug/status').strip() != 'running':
            raise NotOurs('ovn-controller is paused already')
        # First: who comes after a crash has to know.
        self._database.mark(self._mark, ' '.join(self._addresses))
        self._controller.call('debug/pause')
        tunnels = self._database.tunnels(self._addresses)
        if not tunnels:
            raise Failed('no tunnel of OVN to %s has BFD' % ', '.join(
                self._addresses))
        self._tunnels = tunnels
        self._database.set_bfd(dict.fromkeys(tunnels, {}))
        if not _until(lambda: not any(self._database.status(tunnels)),
                      NOTICE):
            raise Failed('ovs-vswitchd does not end BFD')
        self._database.set_bfd({uuid: {**bfd, 'min_tx': _SILENCE}
                                for uuid, bfd in tunnels.items()})

    def end(self):
        """Undo it all; what is not there any more is no failure.

        :returns: list of str: what could not be undone
        """
        reasons = []
        for step in (self._restore, self._resume, self._unmark):
            try:
                step()
            except (Failed, OSError) as e:
                reasons.append(str(e))
        return reasons

    def _restore(self):
        if self._tunnels:
            self._database.set_bfd(self._tunnels)
            _until(self._up, UP)

    def _up(self):
        return all((status.get('state'), status.get('remote_state')) == (
            'up', 'up') for status in self._database.status(self._tunnels))

    def _resume(self):
        self._controller.call('debug/resume')

    def _unmark(self):
        self._database.mark(self._mark, '')


def main(argument):
    """The program; returns its exit status."""
    options = json.loads(argument)
    waking, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    for number in _SIGNALS:
        signal.signal(number, lambda *_args: None)
    keeper, failure = Keeper(options), ''
    ends = time.monotonic() + options['limit']
    if options['addresses']:
        try:
            keeper.begin()
            _say('begun')
            select.select([0, waking], [], [], max(
                0.0, ends - time.monotonic()))
        except NotOurs as e:
            _say(str(e))
            return 1
        except (Failed, OSError) as e:
            failure = str(e)
    reasons = keeper.end()
    _say('; '.join([failure, *reasons]).strip('; ') or 'ended')
    return 1 if failure or reasons else 0


def _say(text):
    with contextlib.suppress(OSError):
        os.write(1, text.encode() + b'\n')


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
