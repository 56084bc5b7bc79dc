# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The floor: what FRR, the kernel and the switch need without any agent.

The same node and the same rows, and the planes written directly: the kernel's
routes by ``ip -batch``, FRR's static routes as one transaction on staticd's
socket, flows by OpenFlow.  The planes are measured one after the other, so
that ALL is the sum of the floors: commit, flow, route until zebra has it.
"""

import socket
import struct
import subprocess
import time

from tools.bench import host as hosts
from tools.bench import observe
from tools.bench import routing
from tools.bench import worlds

_VERSION = 4
# OpenFlow 1.3.5, 7.1 and A.3: types and commands.
_HELLO, _ECHO, _FLOW_MOD, _BARRIER, _BARRIER_REPLY = 0, 2, 14, 20, 21
_ECHO_REPLY, _ERROR = 3, 1
_ADD, _DELETE_STRICT = 0, 4
_ANY = 0xffffffff
_HEADER = struct.Struct('!BBHI')
_ETH_TYPE, _IPV4_DST = 0x80000a02, 0x80001804
_IPV4 = 0x0800
# The cookie that the observer looks for.
_COOKIE = 0x998
_PRIORITY = 900


def changes(addresses, present: bool) -> bytes:
    """Messages that add or delete one flow for each address."""
    return b''.join(_flow_mod(address, _ADD if present else _DELETE_STRICT)
                    for address in addresses)


def _flow_mod(address, command):
    match = struct.pack('!HHIHI4s6x', 1, 18, _ETH_TYPE, _IPV4, _IPV4_DST,
                        socket.inet_aton(address))
    body = struct.pack('!QQBBHHHIIIHxx', _COOKIE, 0, 0, command, 0, 0,
                       _PRIORITY, _ANY, _ANY, _ANY, 0) + match
    return _message(_FLOW_MOD, body)


def _message(kind, body=b''):
    return _HEADER.pack(_VERSION, kind, _HEADER.size + len(body), 1) + body


class Switch:
    """A connection to the management socket of a bridge.

    :raises OSError: when the switch does not answer
    """

    def __init__(self, bridge: str):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(60)
        self._socket.connect(f'/run/openvswitch/{bridge}.mgmt')
        self._rest = b''
        self._socket.sendall(_message(_HELLO))
        self._until(_HELLO)

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self._socket.close()

    def write(self, messages: bytes):
        """Send messages, and return when the switch has obeyed them."""
        self._socket.sendall(messages + _message(_BARRIER))
        self._until(_BARRIER_REPLY)

    def _until(self, wanted):
        """Read messages until one of a kind."""
        while (kind := self._receive()) != wanted:
            if kind == _ECHO:
                self._socket.sendall(_message(_ECHO_REPLY))
            elif kind == _ERROR:
                raise OSError('the switch refuses a flow')

    def _receive(self):
        while len(self._rest) < _HEADER.size or len(
                self._rest) < _HEADER.unpack_from(self._rest)[2]:
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionError('the switch has closed the connection')
            self._rest += data
        _version, kind, length, _xid = _HEADER.unpack_from(self._rest)
        self._rest = self._rest[length:]
        return kind


STATIC = 'static'
_STATICD = '/run/frr/staticd.vty'


class World(worlds.World):
    """A node without an agent; see :class:`worlds.World`."""

    def __init__(self, host, method):
        super().__init__(host, method)
        routing.announce_all()
        self._pipe = None if method == STATIC else subprocess.Popen(
            ['ip', '-batch', '-'], stdin=subprocess.PIPE, text=True)

    def start(self):
        """Write all routes, and then all flows."""
        self._watch()
        # The monitor of flows needs a moment to begin; routes come meanwhile.
        found = self._planes(self.host.gateways + self.present, True,
                             flows_first=False)
        worlds.calm()
        return {**found, worlds.ALL: _sum(found)}

    def stop(self):
        """Take them away again."""
        self._planes(self.host.gateways + self.present, False)
        self._forget()

    def change(self, addresses, present):
        """The commit, and then the routes and flows that it asks for."""
        self._observer.drain()
        change = self.host.add_fips if present else self.host.remove_fips
        started = change(addresses)
        commit = (time.monotonic() - started) * 1000
        planes = self._planes(addresses, present)
        worlds.calm()
        return {**planes, worlds.COMMIT: commit,
                worlds.ALL: commit + _sum(planes)}

    def move(self, here):
        """The routes that a takeover asks for; the flows come later."""
        self._observer.drain()
        with routing.Learning() as learning:
            started, found = self._routes(self._of_first_router(), here)
            learned = self._learned(learning, here)
        worlds.calm()
        return {**worlds.announced(found),
                **worlds.milliseconds(started, learned)}

    def processes(self):
        """There is no program."""
        raise worlds.CannotDo('no agent')

    def rest(self):
        """There is nothing that could go on."""
        return

    def _planes(self, addresses, present, flows_first=True) -> dict:
        """Write flows, and then routes.

        ovs-vswitchd reads all routes again after a change of one, and a flow
        that comes later waits for that.
        """
        steps = [*([self._flows] if observe.FLOW in self.host.places else []),
                 self._routes]
        found = {}
        for step in steps if flows_first else steps[::-1]:
            found.update(step(addresses, present)[1])
        return found

    def _flows(self, addresses, present) -> float:
        """Write flows.

        :returns: monotonic seconds before, and dict of place to milliseconds
        """
        flows = changes(addresses, present)
        with Switch(hosts.BRIDGE) as switch:
            return self._timed(lambda: switch.write(flows), (observe.FLOW,),
                               addresses, present)

    def _routes(self, addresses, present):
        write = self._static if self.method == STATIC else self._kernel
        return self._timed(lambda: write(addresses, present),
                           (observe.ROUTE, observe.RIB), addresses, present)

    def _timed(self, write, places, addresses, present):
        others = self._observer.in_rib() - (0 if present else len(addresses))
        started = time.monotonic()
        write()
        return started, worlds.milliseconds(started, self._observer.wait(
            addresses, present, others, self._patience, places))

    def _kernel(self, addresses, present):
        verb = 'add' if present else 'del'
        self._pipe.stdin.write(''.join(
            f'route {verb} {address}/32 dev {hosts.BRIDGE}\n'
            for address in addresses))
        self._pipe.stdin.flush()

    def _static(self, addresses, present):
        """Static routes of FRR, in one transaction of its northbound.

        :raises RuntimeError: when staticd refuses a line
        """
        no = '' if present else 'no '
        lines = ['enable', 'configure terminal', 'XFRR_start_configuration',
                 *(f'{no}ip route {address}/32 {hosts.BRIDGE}'
                   for address in addresses),
                 'XFRR_end_configuration', 'end']
        with observe.Vty(_STATICD) as staticd:
            for answer in staticd.ask_all(lines):
                if answer.strip():
                    raise RuntimeError(f'staticd says: {answer.strip()}')


def _sum(planes):
    """The time of all planes, of which flows may be none."""
    return planes[observe.RIB] + planes.get(observe.FLOW, 0)
