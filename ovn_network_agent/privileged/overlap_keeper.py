# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The program that makes an overlap of two owners; stdlib only.

The program is one file, because Python runs this file without the package in
its path (``-I -S``): no other module of the agent may be needed to undo an
overlap.

The program pauses the ovn-controller of this node, which then keeps its flows
and claims no port.  It stops BFD in the tunnels to the next owners alone.  For
them this node is dead, so the next owner takes over.  The compute nodes still
send to this node until the priorities in the Northbound database change.

Then the program waits for the end of its standard input, for a signal, or for
the end of its time; the agent may die meanwhile.  The program restores BFD.
When BFD is up, it lets ovn-controller go on, which would otherwise take this
node for the only one alive.

The connection of ovn-controller to the Southbound database has messages of the
meantime.  ovn-controller reads them in parts: at most 50, or up to an
inactivity probe.  After a part it may see that another chassis has the port,
and not yet the new priorities, and would take the port back.  So this program
makes ovn-controller connect anew, because the server then sends the state in
one message.  In ovn-controller, external_ids:ovn-remote-<chassis> comes before
ovn-remote, and another spelling of an address makes a new connection.

The argument is JSON, see :func:`options`.  The program prints ``begun``, or
the reason of a failure.  Its exit status is 2 when it could not undo
everything.  Then the key in external_ids stays, and the next program goes on.
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

# Seconds for the answer of a server.
PATIENCE = 3.0
# Seconds for ovs-vswitchd to read a change, and for BFD to come up again: both
# ends begin with one packet a second (RFC 5880, section 6.8.3).
NOTICE, UP = 2.0, 6.0
_INTERVAL = 0.02
# Seconds between two requests that ovn-controller go on.
_AGAIN = 0.5
# Seconds for one iteration of ovn-controller's loop, even in a large cloud.
_ROUND = 20.0
# Milliseconds between two BFD packets: the first packet reports that the
# session is down, and the second would begin a new session.
_SILENCE = '60000'
# The first OVN that has external_ids for one chassis.
OLDEST = (23, 3)
# The last OVN that the tests have used; later versions are accepted, too.
NEWEST = (26, 3)
# With -<chassis> appended, this key comes before the key without.
_REMOTE = 'ovn-remote'
_TARGET = re.compile(r'((?:tcp|ssl):.+:)(\d+)')
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Failed(Exception):
    """The overlap, or a step of it, is not possible; the text says why."""


class Absent(Failed):
    """There is no ovn-controller, so there is none to resume."""


class NotOurs(Failed):
    """Another program has paused ovn-controller; nothing is to be undone."""


class Database:
    """The local Open_vSwitch database; each call is one transaction.

    :param remote: 'unix:PATH' or 'tcp:HOST:PORT'
    """

    def __init__(self, remote):
        self._remote = remote

    def transact(self, *operations):
        """Results of the operations, a list of dict (RFC 7047, 5.2)."""
        answer = _call(self._address(), 'transact',
                       ['Open_vSwitch', *operations])
        with _understood(self._remote):
            for result in answer:
                if result and result.get('error'):
                    raise Failed(f'{self._remote}: {result["error"]} '
                                 f'{result.get("details", "")}')
            if len(answer) < len(operations):
                raise Failed(f'{self._remote}: an operation has no result')
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
        answer = self.transact({
            'op': 'select', 'table': 'Open_vSwitch', 'where': [],
            'columns': ['external_ids']})
        with _understood(self._remote):
            rows = answer[0]['rows']
            return dict(rows[0]['external_ids'][1]) if rows else {}

    def mark(self, values):
        """Set keys of external_ids.

        :param values: dict of key to value, '' to remove the key
        """
        self.transact({
            'op': 'mutate', 'table': 'Open_vSwitch', 'where': [],
            'mutations': [
                ['external_ids', 'delete', ['set', sorted(values)]],
                ['external_ids', 'insert', ['map', sorted(
                    [key, value] for key, value in values.items()
                    if value)]]]})

    def tunnels(self, addresses):
        """OVN's tunnels to some addresses, dict of UUID to the column bfd."""
        found = {}
        for address in addresses:
            rows = self.transact({
                'op': 'select', 'table': 'Interface',
                'columns': ['_uuid', 'bfd'], 'where': [
                    ['options', 'includes', ['map', [
                        ['remote_ip', address], ['key', 'flow']]]],
                    ['bfd', 'includes', ['map', [['enable', 'true']]]]]})
            with _understood(self._remote):
                found.update({row['_uuid'][1]: dict(row['bfd'][1])
                              for row in rows[0]['rows']})
        return found

    def set_bfd(self, settings):
        """Write the column bfd.

        :param settings: dict of UUID to dict
        """
        self.transact(*({
            'op': 'update', 'table': 'Interface', 'where': _with_uuid(uuid),
            'row': {'bfd': ['map', sorted(map(list, bfd.items()))]}}
            for uuid, bfd in settings.items()))

    def status(self, uuids):
        """The column bfd_status of interfaces, a list of dict."""
        answers = self.transact(*({
            'op': 'select', 'table': 'Interface', 'where': _with_uuid(uuid),
            'columns': ['bfd_status']} for uuid in uuids))
        with _understood(self._remote):
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

        :raises Failed: when the answer has no version
        """
        said = self.call('version')
        found = re.match(r'ovn-controller (\d+)\.(\d+)', said)
        if not found:
            raise Failed(f'ovn-controller says no version: {said[:80]}')
        return int(found[1]), int(found[2])

    def call(self, command, patience=PATIENCE):
        """The answer to a command, text.

        :param patience: seconds for the answer
        :raises Absent: when there is no ovn-controller
        :raises Failed: when ovn-controller does not answer, or refuses
        """
        reasons, absent = [], Absent
        for path in glob.glob(os.path.join(
                glob.escape(self._rundir), 'ovn-controller.*.ctl')):
            try:
                return _text(command, _call(path, command, [], patience))
            except OSError as e:
                # A killed ovn-controller may have left this socket.
                reasons.append(f'{path}: {e.strerror or e}')
                if not isinstance(e, (ConnectionRefusedError,
                                      FileNotFoundError)):
                    absent = Failed
        raise absent('; '.join(reasons) or
                     'no ovn-controller has a control socket in '
                     f'{self._rundir}')


def _text(command, answer):
    if not isinstance(answer, str):
        raise Failed(f'{command}: the answer is no text')
    return answer


def shown(version):
    """A version as OVN writes it, (23, 3) as '23.03'."""
    year, month = version
    return f'{year:d}.{month:02d}'


def _with_uuid(uuid):
    return [['_uuid', '==', ['uuid', uuid]]]


def in_other_words(remote):
    """Another spelling of the same servers, which differs for each server.

    :param remote: text such as ``tcp:192.0.2.1:6642,unix:/run/sb.sock``
    :raises Failed: when a server has no other spelling
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

    :raises Failed: when the server refuses the request
    :raises OSError: when no server answers
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
                answer = _parsed(method, received)
                break
    with _understood(method):
        if answer.get('error') is not None:
            raise Failed(f'{method}: {answer["error"]}')
        return answer['result']


def _parsed(method, received):
    """The JSON value of an answer.

    :raises ValueError: for an incomplete answer
    :raises Failed: for one that no server gives
    """
    try:
        return json.loads(received)
    except RecursionError:
        raise Failed(f'{method}: the answer is nested too deeply') from None


@contextlib.contextmanager
def _understood(what):
    """Turn the errors of an answer in another form into one of ours.

    :raises Failed: for such an answer
    """
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise Failed(f'{what}: the answer was not understood: '
                     f'{error!r}') from error


def _until(condition, seconds):
    """Wait for a condition; whether it became true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_INTERVAL)
    return True


class Keeper:
    """Makes one overlap, and undoes its changes.

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
        """Check whether an overlap is possible, without any change.

        :returns: (version of OVN, a tuple of int; key of external_ids, and
            its value, that make ovn-controller connect anew)
        :raises Failed, OSError: when an overlap is not possible
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
        """Begin the overlap.

        :raises Failed, OSError: when the overlap is not possible; the caller
            has to call :meth:`end` nevertheless
        """
        try:
            status = self._controller.call('debug/status').strip()
            _version, key, words = self.able()
        except (Failed, OSError) as e:
            # Nothing was changed, and :meth:`end` must undo nothing: another
            # overlap may have begun meanwhile.
            raise NotOurs(str(e)) from e
        if status != 'running':
            raise NotOurs('ovn-controller is paused already')
        # This comes first, for the program that follows after a crash.
        self._database.mark({self._mark: ' '.join(self._addresses)})
        self._controller.call('debug/pause')
        # ovn-controller reads this first when it goes on.
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
        """Undo all changes; a missing tunnel or process is no failure.

        :returns: (list of errors, text; whether a change is left, so that
            the key in external_ids stays)
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
        """Let ovn-controller go on, which may be too busy to answer at once.

        A restarted ovn-controller is not paused.
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
        """Wait until ovn-controller has read the other spelling.

        It answers once in each iteration of its loop.
        """
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
    """Take a step; returns a list with its error, or an empty list."""
    try:
        step()
    except (Failed, OSError) as e:
        return [str(e)]
    return []


def options(*, database, rundir, limit, resume, mark, remote, addresses):
    """The argument of the program, a dict.

    :param database: remote of the local Open_vSwitch database
    :param rundir: directory of the control socket of ovn-controller
    :param limit: seconds until the program undoes everything by itself
    :param resume: seconds in which the program repeats its request that
        ovn-controller go on
    :param mark: key of external_ids that exists during the overlap
    :param remote: key of external_ids with another spelling of ovn-remote
    :param addresses: list of IP addresses of the tunnels of the next owners;
        empty to undo the changes of a program that was killed
    """
    return {'database': database, 'rundir': rundir, 'limit': limit,
            'resume': resume, 'mark': mark, 'remote': remote,
            'addresses': addresses}


def main(argument):
    """Run the program; returns its exit status.

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
        # This goes to the journal, because the agent may have gone.
        _say('ovn-network-agent: ' + said, 2)
    return 2 if left else 1 if failure or reasons else 0


def _say(text, descriptor=1):
    with contextlib.suppress(OSError):
        os.write(descriptor, text.encode() + b'\n')


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
