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

What ovn-controller has missed meanwhile waits in its connection to the
Southbound database, and it does not read all of that at once: 50 messages, or
up to the server's question whether it is still there.  In between it may see
that another gateway has the port, but not yet that this is right, and takes
the port back.  So it is made to connect anew: then the server tells all in one
message.  external_ids:ovn-remote-<chassis> goes before ovn-remote in
ovn-controller; the same address in other words is another connection.

One argument, JSON: ``database`` (unix: or tcp: remote of the local
Open_vSwitch database), ``rundir`` (of ovn-controller), ``mark`` (key in
external_ids as long as this lasts), ``remote`` (key in external_ids that keeps
those other words), ``addresses`` (of the tunnels of the other gateways; empty:
only undo what another one has left), ``limit`` (seconds), ``resume`` (seconds
in which an ovn-controller that does not go on is asked again).  Says
``begun``, or what is wrong.  Ends with status 2 when not all is undone; then
the mark stays, and the next one goes on with that.
"""

import contextlib
import glob
import json
import os
import re
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
# Seconds from one try to have ovn-controller go on to the next.
_AGAIN = 0.5
# Seconds for ovn-controller to go once around its loop, in a large cloud, too.
_ROUND = 20.0
# Milliseconds between two BFD packets: the first one says that the session
# is down, the next one would begin it anew.
_SILENCE = '60000'
# The first OVN that knows settings for one chassis.
OLDEST = (23, 3)
# The last OVN that this was tried with; later ones are taken, too.
NEWEST = (26, 3)
# Per chassis: goes before the key without the name.
_REMOTE = 'ovn-remote'
_TARGET = re.compile(r'((?:tcp|ssl):.+:)(\d+)')
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Failed(Exception):
    """It cannot be done; the text says why."""


class Absent(Failed):
    """There is no ovn-controller, so none is paused."""


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
                raise Failed(f'{self._remote}: {result["error"]} '
                             f'{result.get("details", "")}')
        return answer

    def _address(self):
        kind, _colon, where = self._remote.partition(':')
        if kind == 'unix':
            return where
        host, _colon, port = where.rpartition(':')
        if kind != 'tcp' or not port.isdigit():
            raise Failed(f'{self._remote} is neither unix: nor tcp:')
        return host.strip('[]'), int(port)

    def external_ids(self):
        """The column external_ids of Open_vSwitch, dict."""
        rows = self.transact({
            'op': 'select', 'table': 'Open_vSwitch', 'where': [],
            'columns': ['external_ids']})[0]['rows']
        return dict(rows[0]['external_ids'][1]) if rows else {}

    def mark(self, values):
        """Set keys of external_ids: dict; '' removes one."""
        self.transact({
            'op': 'mutate', 'table': 'Open_vSwitch', 'where': [],
            'mutations': [
                ['external_ids', 'delete', ['set', sorted(values)]],
                ['external_ids', 'insert', ['map', sorted(
                    [key, value] for key, value in values.items()
                    if value)]]]})

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

    def version(self):
        """The version of OVN, a tuple of int.

        :raises Failed: when it says none
        """
        said = self.call('version')
        found = re.match(r'ovn-controller (\d+)\.(\d+)', said)
        if not found:
            raise Failed(f'ovn-controller says no version: {said[:80]}')
        return int(found[1]), int(found[2])

    def call(self, command, patience=PATIENCE):
        """What it answers to a command, text.

        :param patience: seconds that the answer may take
        :raises Absent: when there is none
        :raises Failed: when none answers, or it refuses
        """
        reasons, absent = [], Absent
        for path in glob.glob(os.path.join(
                glob.escape(self._rundir), 'ovn-controller.*.ctl')):
            try:
                return _call(path, command, [], patience)
            except OSError as e:
                # It may be that of one which was killed.
                reasons.append(f'{path}: {e.strerror or e}')
                if not isinstance(e, (ConnectionRefusedError,
                                      FileNotFoundError)):
                    absent = Failed
        raise absent('; '.join(reasons) or
                     'no ovn-controller has a control socket in '
                     f'{self._rundir}')


def shown(version):
    """A version as OVN writes it, (23, 3) as '23.03'."""
    year, month = version
    return f'{year:d}.{month:02d}'


def _is(uuid):
    return [['_uuid', '==', ['uuid', uuid]]]


def in_other_words(remote):
    """The same servers as a text that differs, server by server.

    :param remote: OVN's text, as in ``tcp:192.0.2.1:6642,unix:/run/sb.sock``
    :raises Failed: when there is none
    """
    return ','.join(_renamed(target) for target in remote.split(','))


def _renamed(target):
    found = _TARGET.fullmatch(target)
    if found:
        return f'{found[1]}0{found[2]}'
    kind, _colon, path = target.partition(':')
    if kind == 'unix' and path.startswith('/'):
        return f'unix:/.{path}'
    raise Failed(f'external_ids:ovn-remote has {target!r}, which is neither '
                 'tcp:HOST:PORT, ssl:HOST:PORT nor unix:/PATH')


def _call(address, method, params, patience=PATIENCE):
    """The result of one request of JSON-RPC 1.0.

    :raises Failed: when it is refused
    :raises OSError: when nobody answers
    """
    family = socket.AF_UNIX if isinstance(address, str) else (
        socket.AF_INET6 if ':' in address[0] else socket.AF_INET)
    with socket.socket(family, socket.SOCK_STREAM) as opened:
        opened.settimeout(patience)
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
        raise Failed(f'{method}: {answer["error"]}')
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

    :param told: dict, see :func:`options`
    """

    def __init__(self, told):
        self._mark = told['mark']
        self._words = told['remote']
        self._addresses = told['addresses']
        self._patience = told['resume']
        self._database = Database(told['database'])
        self._controller = Controller(told['rundir'])
        self._tunnels = {}

    def able(self):
        """Look whether it could be, and change nothing.

        :returns: (version of OVN, a tuple of int; key of external_ids, and
            its value, that have ovn-controller connect anew)
        :raises Failed, OSError: when it cannot be
        """
        version = self._controller.version()
        if version < OLDEST:
            raise Failed(f'ovn-controller is of OVN {shown(version)}; it '
                         f'needs OVN {shown(OLDEST)} or later')
        ids = self._database.external_ids()
        key = f'{_REMOTE}-{ids.get("system-id", "")}'
        if key in ids and ids[key] != ids.get(self._words):
            raise Failed(f'external_ids:{key} is set, and would have to be '
                         'changed for it; ovn-remote would not')
        return version, key, in_other_words(ids.get(_REMOTE, ''))

    def begin(self):
        """Have both serve.

        :raises Failed, OSError: when that cannot be; then :meth:`end` all
            the same
        """
        try:
            status = self._controller.call('debug/status').strip()
            _version, key, words = self.able()
        except (Failed, OSError) as e:
            # Nothing was changed, so nothing is to be undone: another
            # overlap may have begun until this one knows.
            raise NotOurs(str(e)) from e
        if status != 'running':
            raise NotOurs('ovn-controller is paused already')
        # First: who comes after a crash has to know.
        self._database.mark({self._mark: ' '.join(self._addresses)})
        self._controller.call('debug/pause')
        # Now: the first thing that it reads when it goes on.
        self._database.mark({key: words, self._words: words})
        tunnels = self._database.tunnels(self._addresses)
        if not tunnels:
            raise Failed('no tunnel of OVN to '
                         f'{", ".join(self._addresses)} has BFD')
        self._tunnels = tunnels
        self._database.set_bfd(dict.fromkeys(tunnels, {}))
        if not _until(lambda: not any(self._database.status(tunnels)),
                      NOTICE):
            raise Failed('ovs-vswitchd does not end BFD')
        self._database.set_bfd({uuid: {**bfd, 'min_tx': _SILENCE}
                                for uuid, bfd in tunnels.items()})

    def end(self):
        """Undo it all; what is not there any more is no failure.

        :returns: (list of str: what went wrong; whether something is left,
            which the mark then says)
        """
        reasons = _tried(self._restore)
        paused = _tried(self._resume)
        if paused:
            return [*reasons, *paused, 'ovn-controller may be paused, so the '
                    'mark of the overlap stays'], True
        reasons += _tried(self._wait_round)
        marked = _tried(self._unmark)
        return reasons + marked, bool(marked)

    def _restore(self):
        if self._tunnels:
            self._database.set_bfd(self._tunnels)
            _until(self._up, UP)

    def _up(self):
        return all((status.get('state'), status.get('remote_state')) == (
            'up', 'up') for status in self._database.status(self._tunnels))

    def _resume(self):
        """Have it go on; it may be too busy to answer.

        One that was started anew is not paused.
        """
        deadline = time.monotonic() + self._patience
        while True:
            try:
                self._controller.call('debug/resume')
                return
            except Absent:
                return
            except (Failed, OSError):
                if time.monotonic() > deadline:
                    raise
            time.sleep(_AGAIN)

    def _wait_round(self):
        """It has read the other words: it answers once in each round."""
        with contextlib.suppress(Absent):
            self._controller.call('debug/status', _ROUND)

    def _unmark(self):
        ids = self._database.external_ids()
        words = ids.get(self._words)
        gone = {key for key, value in ids.items()
                if key.startswith(_REMOTE + '-') and value == words}
        self._database.mark(dict.fromkeys(
            {*gone, self._words, self._mark}, ''))


def _tried(step):
    """Take a step; returns a list of what went wrong, str."""
    try:
        step()
    except (Failed, OSError) as e:
        return [str(e)]
    return []


def options(*, database, rundir, limit, resume, mark, remote, addresses):
    """What the program is told, a dict.

    :param database: remote of the local Open_vSwitch database
    :param rundir: directory of the control socket of ovn-controller
    :param limit: seconds until the program undoes everything by itself
    :param resume: seconds in which it asks an ovn-controller again that does
        not go on
    :param mark: key of external_ids that is there as long as it lasts
    :param remote: key of external_ids with other words for ovn-remote
    :param addresses: list of IP addresses of the tunnels of the others,
        empty to undo what one has left that was killed
    """
    return {'database': database, 'rundir': rundir, 'limit': limit,
            'resume': resume, 'mark': mark, 'remote': remote,
            'addresses': addresses}


def main(argument):
    """The program; returns its exit status.

    :param argument: JSON of :func:`options`
    """
    told = json.loads(argument)
    waking, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    for number in _SIGNALS:
        signal.signal(number, lambda *_args: None)
    keeper, failure = Keeper(told), ''
    ends = time.monotonic() + told['limit']
    if told['addresses']:
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
    reasons, left = keeper.end()
    said = '; '.join([failure, *reasons]).strip('; ') or 'ended'
    _say(said)
    if left:
        # For the journal: the agent may have gone.
        _say('ovn-network-agent: ' + said, 2)
    return 2 if left else 1 if failure or reasons else 0


def _say(text, descriptor=1):
    with contextlib.suppress(OSError):
        os.write(descriptor, text.encode() + b'\n')


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
