# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""This node's row in SB's table Chassis, and the time without it.  Pure.

SB refuses a second row with the same tunnel address: after another system-id
the former row stays, and OVN forwards by it (decision record 0037).
"""

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Iterable
import typing
from typing import Any

from ovn_network_agent.model.node import Wiring
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovsdb import columns

_SET = '"ovs-vsctl set Open_vSwitch . external_ids:system-id={}"'
# Seconds for ovn-controller to bind the ports after the row's return.
REGISTERING = 10.0


class Unknown(Exception):
    """SB does not say which chassis this node is; the text says why."""


class OwnChassis(typing.NamedTuple):
    """The chassis that this node is."""

    # '' if neither the row with the system-id nor another is this node's.
    name: str
    # What is wrong, '' in a healthy cloud, and what an operator can do.
    problem: str = ''
    remedy: str = ''

    @property
    def text(self) -> str:
        """The problem with its effect and the remedy."""
        return (f'{self.problem}; nothing is withdrawn for this; {self.remedy}'
                if self.problem else '')


def find(index: indexes.Find, wiring: Wiring,
         previous: str = '') -> OwnChassis:
    """The chassis of this node: the ``previous`` one while SB has it."""
    hosts = _Hosts(index, wiring)
    name = wiring.chassis
    known = name in hosts
    if known and not hosts.is_elsewhere(name):
        return OwnChassis(name)
    rivals = hosts.with_address()
    here = [each for each in rivals if hosts.hostname(each) == wiring.hostname]
    problem = (hosts.cloned() if known else
               hosts.unregistered(previous if previous in hosts else '',
                                  rivals))
    if previous in hosts:
        return OwnChassis(previous, *problem)
    if len(here) == 1:
        return OwnChassis(here[0], *problem)
    return OwnChassis('' if known else previous or name, *problem)


def of_rows(sb: columns.Tables, wiring: Wiring,
            previous: str = '') -> OwnChassis:
    """As :func:`find`, from the rows of Chassis and Encap alone."""
    found = indexes.make()
    for table in ('Chassis', 'Encap'):
        for each in found['sb', table].values():
            each.rebuild(dict(sb.get(table, {})))
    return find(lambda database, table, name: found[database, table][name],
                wiring, previous)


class _Hosts:
    """The chassis of SB, by what this node knows of itself."""

    def __init__(self, index: indexes.Find, wiring: Wiring) -> None:
        self._index = index
        self._wiring = wiring

    def __contains__(self, name: str) -> bool:
        return bool(name) and bool(
            self._index('sb', 'Chassis', 'name').find(name))

    def hostname(self, name: str) -> str:
        """Host name of a chassis that SB has."""
        uuid = self._index('sb', 'Chassis', 'name').first(name)
        (hostname,) = self._index('sb', 'Chassis', 'hostname').keys_of(uuid)
        return str(hostname)

    def with_address(self) -> list[str]:
        """The other chassis with a tunnel address of this node, sorted."""
        encaps = self._index('sb', 'Encap', 'name')
        return sorted({
            name for address in self._wiring.addresses
            for uuid in self._index('sb', 'Encap', 'ip').find(address)
            for name in encaps.keys_of(uuid)
            if name in self and name != self._wiring.chassis})

    def is_elsewhere(self, name: str) -> bool:
        """Whether the tunnels of a chassis end on another node."""
        addresses = self._addresses(name)
        return (bool(addresses) and bool(self._wiring.addresses) and
                addresses.isdisjoint(self._wiring.addresses))

    def _addresses(self, name: str) -> set[str]:
        addresses = self._index('sb', 'Encap', 'ip')
        return {address for uuid in
                self._index('sb', 'Encap', 'name').find(name)
                for address in addresses.keys_of(uuid)}

    def cloned(self) -> tuple[str, str]:
        """The system-id of this node is another node's: (problem, remedy)."""
        name = self._wiring.chassis
        return (f'chassis {name}, whose name is the system-id of this node, '
                f'has in OVN SB the tunnel address '
                f'{_listed(self._addresses(name))} of host '
                f'{self.hostname(name)}, and this node has '
                f'{_listed(self._wiring.addresses)}',
                'if two nodes have one system-id, give one of them another '
                f'({_SET.format("NAME")}), and restart its ovn-controller; '
                'otherwise see why ovn-controller does not follow '
                'ovn-encap-ip')

    def unregistered(self, previous: str,
                     rivals: Iterable[str]) -> tuple[str, str]:
        """SB does not have this chassis: (problem, remedy)."""
        name = self._wiring.chassis
        problem = (f'OVN SB has no chassis {name}, the system-id of this node'
                   if name else 'external_ids:system-id is not set in the '
                   'local Open_vSwitch database')
        olds = sorted({previous, *rivals} - {''})
        if not olds:
            return problem, (
                'see that ovn-controller runs, that external_ids:ovn-remote, '
                'ovn-encap-ip and ovn-encap-type are set, and look into its '
                'log' if name
                else _SET.format('NAME') + ', and restart ovn-controller')
        problem += ''.join(
            f', but chassis {each} with the tunnel address '
            f'{_listed(self._addresses(each))} and the host name '
            f'{self.hostname(each)}' for each in olds)
        remedy = (f'set the former system-id again ({_SET.format(olds[0])}), '
                  'or delete the former row '
                  f'("ovn-sbctl chassis-del {olds[0]}")')
        if any(self.hostname(each) != self._wiring.hostname for each in olds):
            remedy = ('if that is another node, correct ovn-encap-ip on the '
                      f'node that has the wrong address; otherwise {remedy}')
        return problem, remedy


def _listed(addresses: Iterable[str]) -> str:
    return ', '.join(sorted(addresses))


class HeldPorts:
    """Remembers the ports that were here when SB lost this chassis' row.

    No chassis has them then, so nothing says that another took over.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # Monotonic seconds, None before the return of the row.
        self._until: float | None = None
        # Of router ports and machines' ports.
        self.names: frozenset[str] = frozenset()

    def look(self, own: Any, rows: Container[Any],
             ports: Callable[[], frozenset[str]]) -> None:
        """Compare the former row (UUID) with the present rows of Chassis."""
        if own not in rows:
            self.names |= ports()
            self._until = None
        elif self.names:
            now = self._clock()
            if self._until is None:
                self._until = now + REGISTERING
            if now >= self._until:
                self.names, self._until = frozenset(), None

    def due_in(self) -> float | None:
        """Seconds until the ports are let go, or None."""
        return (None if self._until is None else
                max(0.0, self._until - self._clock()))


# Most seconds between an ovn-controller's attempts (Open vSwitch,
# lib/reconnect.c: up to 8 s), and one for the attempt.
RECONNECT = 9.0
# Most seconds to wait: maybe only this agent has lost the database.
BLIND = 20.0


def late_for(connected: bool, changed_at: float | None,
             now: float) -> float:
    """Seconds for which some chassis may not follow a new order, else 0.

    After an outage of SB, each ovn-controller reconnects on its own time:
    compute nodes may send a moved port's packets to the former chassis.

    :param changed_at: monotonic seconds of the last loss or return, or None
    """
    if changed_at is None:
        return 0.0
    return max(0.0, changed_at + (RECONNECT if connected else BLIND) - now)
