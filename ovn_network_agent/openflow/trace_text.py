# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The text of ofproto/trace and of dpif/show of ovs-vswitchd.  Pure.

An answer of ofproto/trace (Open vSwitch 3.1) has such parts::

    bridge("br-ex")
    ---------------
     0. ip,nw_dst=198.51.100.10, priority 2000, cookie 0x7
        drop

    Datapath actions: drop

A packet back from connection tracking begins one after a line of "=" with
"recirc"; lines up to the second "=" name translated addresses.  The bridge in
its head is that of the first input port, not of the tables that follow.
"""

from collections.abc import Iterator
import re
import typing

_BRIDGE = re.compile(r'bridge\("(.+)"\)')
_STEP = re.compile(r'(\d{1,3})(?:\([^)]*\))?\. (.*)')
_FLOW = re.compile(r'(?:(.*), )?priority (\d{1,5})(?:, cookie (0x[0-9a-f]+))?')
_RECIRCULATION = re.compile(r'(?m)^=+\n.*recirc.*\n(?:[^=\n].*\n)*=+$')
_ACTIONS = 'Datapath actions: '
_TUNNEL = re.compile(r'\bdst=([0-9a-f.:]+)')
_PORT = re.compile(r'    (\S+) (\d{1,5})/(\d{1,10}|none): \((.*)\)')
_PEER = re.compile(r'patch: peer=(\S+)')
_LOCAL = 65534
_DROP = 'drop'
_OUTPUT = 'output:'


class Step(typing.NamedTuple):
    """A table that a packet crosses."""

    bridge: str
    table: int
    # in the notation of ovs-ofctl; None when no flow has matched
    match: str | None = None
    # of the flow, likewise the others
    priority: int = 0
    cookie: int = 0
    actions: tuple[str, ...] = ()

    @property
    def drops(self) -> bool:
        """Whether nothing becomes of the packet here."""
        return self.actions == (_DROP,)

    @property
    def sends(self) -> bool:
        """Whether the packet leaves the bridge here."""
        return any(action.startswith(_OUTPUT) for action in self.actions)

    def text(self) -> str:
        """The flow as a person looks for the flow."""
        where = f'{self.bridge} table {self.table}'
        if self.match is None:
            return f'{where}, no flow matches'
        return (f'{where}, cookie {self.cookie:#x} priority {self.priority} '
                f'{self.match or "(all packets)"}')


class Trace(typing.NamedTuple):
    """What becomes of a packet."""

    # in their order
    steps: tuple[Step, ...]
    # names of the bridges that the packet enters
    bridges: tuple[str, ...]
    # the data path's sending actions, as '3' or 'tunnel to 172.30.0.2'
    outputs: tuple[str, ...]

    def steps_in(self, bridge: str) -> tuple[Step, ...]:
        """The steps in a bridge."""
        return tuple(each for each in self.steps if each.bridge == bridge)


class Port(typing.NamedTuple):
    """A port of a bridge."""

    name: str
    bridge: str
    # in OpenFlow
    number: int
    # in the data path, '' for a patch port
    datapath: str = ''
    # the other end of a patch port, else ''
    peer: str = ''

    @property
    def is_local(self) -> bool:
        """Whether the port is the device of its bridge."""
        return self.number == _LOCAL


def parse(text: str) -> Trace:
    """What becomes of a packet, by ofproto/trace; else ValueError."""
    steps: list[Step] = []
    bridges: list[str] = []
    outputs: list[str] = []
    for number, part in enumerate(_RECIRCULATION.split(text)):
        inherited = steps[-1].bridge if number and steps else ''
        found, entered, sent = _part(part, inherited)
        steps += found
        outputs += sent
        bridges += entered
    if not bridges:
        raise ValueError(f'no trace of a packet: {text.strip()[:200]!r}')
    return Trace(tuple(steps), tuple(bridges), tuple(outputs))


def _part(text: str, inherited: str
          ) -> tuple[list[Step], list[str], list[str]]:
    """(steps, bridges, outputs) until a packet goes to a recirculation."""
    steps: list[Step] = []
    bridges: list[str] = []
    outputs: list[str] = []
    # depth and index of the steps that a line may belong to
    open_: list[tuple[int, int]] = []
    bridge, ended = '', False
    for line in text.splitlines():
        stripped, depth = line.strip(), len(line) - len(line.lstrip())
        if line.startswith(_ACTIONS):
            outputs += _outputs(line[len(_ACTIONS):])
        ended = ended or stripped.startswith('Final flow: ')
        if ended or not stripped or not stripped.strip('-'):
            continue
        head = _BRIDGE.fullmatch(stripped)
        if head:
            bridge = head[1] if bridge or not inherited else inherited
            bridges.append(bridge)
            continue
        step = _STEP.fullmatch(stripped)
        while open_ and open_[-1][0] >= depth:
            open_.pop()
        if step:
            open_.append((depth, len(steps)))
            steps.append(_step(bridge, int(step[1]), step[2]))
        elif open_ and stripped[:2] not in ('->', '>>'):
            index = open_[-1][1]
            steps[index] = steps[index]._replace(
                actions=(*steps[index].actions, stripped))
    return steps, bridges, outputs


def _step(bridge: str, table: int, flow_text: str) -> Step:
    flow = _FLOW.fullmatch(flow_text)
    if flow is None:
        return Step(bridge, table)
    return Step(bridge, table, flow[1] or '', int(flow[2]),
                int(flow[3] or '0', 16))


def _outputs(text: str) -> Iterator[str]:
    tunnel = ''
    for action in _top(text):
        if action.startswith('set(tunnel('):
            found = _TUNNEL.search(action)
            tunnel = f'tunnel to {found[1]}' if found else 'tunnel'
        elif action.startswith('tnl_push('):
            yield 'tunnel'
        elif action.startswith('clone('):
            yield from _outputs(action[len('clone('):-1])
        elif action.startswith('check_pkt_len('):
            # OVN's question for a gateway's MTU; the packet is small
            yield from (sent for case in _top(action[len('check_pkt_len('):-1])
                        if case.startswith('le(')
                        for sent in _outputs(case[len('le('):-1]))
        elif action.isdigit():
            yield tunnel or action
            tunnel = ''


def _top(text: str) -> Iterator[str]:
    """The parts between the commas outside of parentheses."""
    depth, word = 0, ''
    for letter in text:
        depth += (letter == '(') - (letter == ')')
        if letter == ',' and not depth:
            yield word.strip()
            word = ''
        else:
            word += letter
    yield word.strip()


def ports(text: str) -> tuple[Port, ...]:
    """The ports of all bridges, by the answer of dpif/show."""
    found, bridge = [], ''
    for line in text.splitlines():
        port = _PORT.fullmatch(line)
        if port and bridge:
            peer = _PEER.fullmatch(port[4])
            found.append(Port(
                port[1], bridge, int(port[2]),
                '' if port[3] == 'none' else port[3], peer[1] if peer else ''))
        elif line.startswith('  ') and line.endswith(':'):
            bridge = line.strip()[:-1]
    return tuple(found)
