# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The local database and ovn-controller, over sockets; stdlib only, for
:mod:`overlap_keeper`, which loads it without the package.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import glob
import json
import os
import re
import socket
import typing

# seconds for the answer of a server
TIMEOUT = 3.0
# path of a Unix socket, or host and port
_Where = str | tuple[str, int]
_Row = dict[str, typing.Any]
# a column of keys and values
Settings = dict[str, str]


class Failed(Exception):
    """The overlap, or a step of it, is not possible; the text says why."""


class Absent(Failed):
    """There is no ovn-controller, so there is none to resume."""


class Database:
    """The local Open_vSwitch database; each call is one transaction."""

    def __init__(self, remote: str) -> None:
        self._remote = remote

    def transact(self, *operations: _Row) -> list[typing.Any]:
        """Results of the operations (RFC 7047, 5.2)."""
        answer: list[typing.Any] = _call(
            self._address(), 'transact', ['Open_vSwitch', *operations])
        with _understood(self._remote):
            for result in answer:
                if result and result.get('error'):
                    raise Failed(f'{self._remote}: {result["error"]} '
                                 f'{result.get("details", "")}')
            if len(answer) < len(operations):
                raise Failed(f'{self._remote}: an operation has no result')
        return answer

    def _address(self) -> _Where:
        kind, _colon, where = self._remote.partition(':')
        if kind == 'unix':
            return where
        host, _colon, port = where.rpartition(':')
        if kind != 'tcp' or not port.isdigit():
            raise Failed(f'{self._remote} is neither unix: nor tcp:')
        return host.strip('[]'), int(port)

    def external_ids(self) -> dict[str, str]:
        """The column external_ids of Open_vSwitch."""
        answer = self.transact({
            'op': 'select', 'table': 'Open_vSwitch', 'where': [],
            'columns': ['external_ids']})
        with _understood(self._remote):
            rows = answer[0]['rows']
            return dict(rows[0]['external_ids'][1]) if rows else {}

    def mark(self, values: dict[str, str]) -> None:
        """Set keys of external_ids; '' removes a key."""
        self.transact({
            'op': 'mutate', 'table': 'Open_vSwitch', 'where': [],
            'mutations': [
                ['external_ids', 'delete', ['set', sorted(values)]],
                ['external_ids', 'insert', ['map', sorted(
                    [key, value] for key, value in values.items()
                    if value)]]]})

    def tunnels(self, addresses: Iterable[str]) -> dict[str, Settings]:
        """The column bfd of OVN's tunnels to some addresses, by UUID."""
        found: dict[str, Settings] = {}
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

    def set_bfd(self, settings: dict[str, Settings]) -> None:
        """Write the column bfd, by UUID."""
        self.transact(*({
            'op': 'update', 'table': 'Interface', 'where': _with_uuid(uuid),
            'row': {'bfd': ['map', sorted(map(list, bfd.items()))]}}
            for uuid, bfd in settings.items()))

    def status(self, uuids: Iterable[str]) -> list[Settings]:
        """The column bfd_status of interfaces."""
        answers = self.transact(*({
            'op': 'select', 'table': 'Interface', 'where': _with_uuid(uuid),
            'columns': ['bfd_status']} for uuid in uuids))
        with _understood(self._remote):
            return [dict(row['bfd_status'][1]) for answer in answers
                    for row in answer['rows']]


class Controller:
    """The ovn-controller of this node, by the directory of its socket."""

    def __init__(self, rundir: str) -> None:
        self._rundir = rundir

    def version(self) -> tuple[int, int]:
        """The version of OVN."""
        output = self.call('version')
        found = re.match(r'ovn-controller (\d+)\.(\d+)', output)
        if not found:
            raise Failed(f'ovn-controller reports no version: {output[:80]}')
        return int(found[1]), int(found[2])

    def call(self, command: str, timeout: float = TIMEOUT) -> str:
        """The answer to a command.

        :raises Absent: when there is no ovn-controller
        :raises Failed: when ovn-controller does not answer, or refuses
        """
        reasons = []
        absent: type[Failed] = Absent
        for path in glob.glob(os.path.join(
                glob.escape(self._rundir), 'ovn-controller.*.ctl')):
            try:
                return _text(command, _call(path, command, [], timeout))
            except OSError as e:
                # a killed ovn-controller may have left this socket
                reasons.append(f'{path}: {e.strerror or e}')
                if not isinstance(e, (ConnectionRefusedError,
                                      FileNotFoundError)):
                    absent = Failed
        raise absent('; '.join(reasons) or
                     'no ovn-controller has a control socket in '
                     f'{self._rundir}')


def _text(command: str, answer: object) -> str:
    if not isinstance(answer, str):
        raise Failed(f'{command}: the answer is no text')
    return answer


def shown(version: tuple[int, int]) -> str:
    """A version as OVN writes it, (23, 3) as '23.03'."""
    year, month = version
    return f'{year:d}.{month:02d}'


def _with_uuid(uuid: str) -> list[typing.Any]:
    return [['_uuid', '==', ['uuid', uuid]]]


def _call(address: _Where, method: str, params: list[typing.Any],
          timeout: float = TIMEOUT) -> typing.Any:
    """A request of JSON-RPC 1.0; Failed if refused, OSError if unanswered."""
    family = socket.AF_UNIX if isinstance(address, str) else (
        socket.AF_INET6 if ':' in address[0] else socket.AF_INET)
    with socket.socket(family, socket.SOCK_STREAM) as opened:
        opened.settimeout(timeout)
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


def _parsed(method: str, received: bytes) -> typing.Any:
    """ValueError for an incomplete answer."""
    try:
        return json.loads(received)
    except RecursionError:
        raise Failed(f'{method}: the answer is nested too deeply') from None


@contextlib.contextmanager
def _understood(what: str) -> Iterator[None]:
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise Failed(f'{what}: the answer was not understood: '
                     f'{error!r}') from error
