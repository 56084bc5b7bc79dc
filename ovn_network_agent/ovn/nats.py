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

"""The NAT rows of routers, as values of the model.

A router may have thousands of NAT rows, and an event changes one of them.  So
the values of a router are kept, and only the rows that have come, gone or
changed are read.  Pure: it works on rows and indexes that the caller passes
in.
"""

import bisect
import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import re
import typing

from ovn_network_agent import identity
from ovn_network_agent import iptext
from ovn_network_agent import model
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Uuid

if typing.TYPE_CHECKING:
    # The indexes read NAT rows by a function of this module.
    from ovn_network_agent.ovn import indexes

_FLOATING = 'dnat_and_snat'
_MAC = re.compile('[0-9a-f]{2}(:[0-9a-f]{2}){5}')
_Key = tuple[str, str, str, str, bool, str]


def nat(row: Row,
        resident: Callable[[str], bool] = lambda port: False) -> model.Nat:
    """The value of a NAT row.

    :param resident: whether a logical port is on this chassis
    :raises ValueError: when external_ip is no IP address, or external_mac is
        no MAC address; the text names the row and the value
    """
    text = columns.atom(row, 'external_ip')
    try:
        canonical = iptext.canonical(text)
        # The text of the row is there anyhow.
        external = text if text == canonical else canonical
    except ValueError:
        raise ValueError(f'NAT row {row.uuid}: external_ip {text!r} is not an '
                         'IP address') from None
    kind, logical = (columns.atom(row, column)
                     for column in ('type', 'logical_ip'))
    port = (columns.optional(row, 'gateway_port', None)
            if columns.atom(row, 'gateway_port') else None)
    gateway_port = port.name if port else ''
    machine = machine_of(row)
    if not machine:
        return model.Nat(kind, external, logical, gateway_port=gateway_port)
    mac = columns.atom(row, 'external_mac').lower()
    if not _MAC.fullmatch(mac):
        # ovn-northd leaves out such a row, too (lrouter_check_nat_entry).
        raise ValueError(f'NAT row {row.uuid}: external_mac {mac!r} is not a '
                         'MAC address')
    return model.Nat(kind, external, logical, mac, resident(machine),
                     gateway_port)


def machine_of(row: Row) -> str:
    """The logical port of a distributed floating IP, '' for another NAT row.
    """
    if (columns.atom(row, 'type') != _FLOATING or
            not columns.atom(row, 'external_mac')):
        return ''
    return str(columns.atom(row, 'logical_port'))


class Nats:
    """The NAT rows of all routers.

    :param resident: see :func:`nat`; a caller says with :meth:`changed` that
        the answer for a row is another one
    """

    def __init__(self, resident: Callable[[str], bool] = lambda port: False
                 ) -> None:
        self._resident = resident
        self._routers: dict[Uuid, _Router] = {}

    def forget(self) -> None:
        """Read everything anew the next time."""
        self._routers.clear()

    def changed(self, uuid: Uuid, routers: Iterable[Uuid]) -> None:
        """Note a new, deleted or changed row of NAT.

        :param routers: those whose values depend on the row
        """
        for router in routers:
            if router in self._routers:
                self._routers[router].changed.add(uuid)

    def drop(self, router: Uuid) -> None:
        """Forget a router that is gone."""
        self._routers.pop(router, None)

    def of_router(self, uuid: Uuid, references: tuple[Uuid, ...],
                  table: columns.Rows
                  ) -> tuple[tuple[model.Nat, ...], list[str], set[Uuid]]:
        """The present NAT rows of a router.

        :param references: the UUIDs of its rows, the same objects as before
            for the same rows
        :returns: the values, sorted, each once; why malformed rows are left
            out; the rows that were read now
        """
        if uuid not in self._routers:
            self._routers[uuid] = _Router(self._resident)
        return self._routers[uuid].read(references, table)

    def residents(self, uuid: Uuid) -> set[model.Nat]:
        """The distributed floating IPs of a router with a machine here.

        :meth:`of_router` comes before.
        """
        return self._routers[uuid].residents


class _Router:
    """The NAT rows of one router."""

    def __init__(self, resident: Callable[[str], bool]) -> None:
        self._resident = resident
        # The rows that are to be read again.
        self.changed: set[Uuid] = set()
        # See Nats.residents.
        self.residents: set[model.Nat] = set()
        # By UUID of each of the references the value or None, and the reason
        # why a row has none.
        self._references: tuple[Uuid, ...] = ()
        self._values: dict[Uuid, model.Nat | None] = {}
        self._bad: dict[Uuid, str] = {}
        # How many rows have a value, and the values with their sort keys.
        self._counts: collections.Counter[model.Nat] = collections.Counter()
        self._keys: list[_Key] = []
        self._sorted: list[model.Nat] = []

    def read(self, references: tuple[Uuid, ...], table: columns.Rows
             ) -> tuple[tuple[model.Nat, ...], list[str], set[Uuid]]:
        """See :meth:`Nats.of_router`."""
        gone, come = map(set, identity.difference(self._references,
                                                  references))
        self._references = references
        for uuid in gone:
            self._remove(uuid)
        # A row that has changed may belong to another router now.
        come |= {uuid for uuid in self.changed if self._remove(uuid)}
        for uuid in come:
            self._add(uuid, table.get(uuid))
        self.changed = set()
        return tuple(self._sorted), sorted(self._bad.values()), come

    def _add(self, uuid: Uuid, row: Row) -> None:
        """Read a row that is not known yet; None for a row that is to come."""
        try:
            self._values[uuid] = value = row and nat(
                row, self._resident)
        except ValueError as error:
            self._values[uuid] = None
            self._bad[uuid] = str(error)
            return
        if value is None:
            return
        self._counts[value] += 1
        if self._counts[value] == 1:
            at = bisect.bisect(self._keys, _key(value))
            self._keys.insert(at, _key(value))
            self._sorted.insert(at, value)
            if value.resident:
                self.residents.add(value)

    def _remove(self, uuid: Uuid) -> bool:
        """Forget a row; returns whether the row was known."""
        if uuid not in self._values:
            return False
        self._bad.pop(uuid, None)
        value = self._values.pop(uuid)
        if value is not None:
            self._uncount(value)
        return True

    def _uncount(self, value: model.Nat) -> None:
        self._counts[value] -= 1
        if not self._counts[value]:
            del self._counts[value]
            at = bisect.bisect_left(self._keys, _key(value))
            del self._keys[at], self._sorted[at]
            self.residents.discard(value)


def _key(nat: model.Nat) -> _Key:
    """Sort key; no two different values have the same."""
    return (nat.external_ip, nat.type, nat.logical_ip, nat.distributed_mac,
            nat.resident, nat.gateway_port)


class Machines:
    """The machines of distributed floating IPs on this chassis.

    OVN answers for a distributed floating IP on the chassis that has the
    logical port of its NAT row.
    """

    def __init__(self, find: 'indexes.Find') -> None:
        self._find = find
        # As in model.wiring.Wiring.
        self.chassis = ''
        self.held: frozenset[str] = frozenset()

    @property
    def wanted(self) -> bool:
        """Whether the cloud has distributed floating IPs."""
        return bool(self._find('nb', 'NAT', 'machine').keys())

    def is_here(self, port: str) -> bool:
        """Whether the port of a machine is on this chassis, and up."""
        hosted = self._find('sb', 'Port_Binding', 'hosted')
        bindings = self._find('sb', 'Port_Binding', 'machine').find(port)
        if not bindings:
            return port in self.held
        return any(self.chassis in hosted.keys_of(uuid) for uuid in bindings)

    def routers_here(self, bindings: 'indexes.Bindings') -> Iterator[Uuid]:
        """The routers with a floating IP of a machine here."""
        if not self.wanted:
            return
        machines = self._find('nb', 'NAT', 'machine')
        by_nat = self._find('nb', 'Logical_Router', 'nat')
        for uuid in self._find('sb', 'Port_Binding', 'hosted').find(
                self.chassis):
            for nat in machines.find(bindings[uuid].logical_port):
                yield from by_nat.find(nat)
        for port in self.held:
            for nat in machines.find(port):
                yield from by_nat.find(nat)

    def nat_rows(self, binding: Uuid) -> Iterator[Uuid]:
        """The NAT rows for the port of a machine in a Port_Binding row."""
        for port in self._find('sb', 'Port_Binding',
                               'machine').keys_of(binding):
            yield from self._find('nb', 'NAT', 'machine').find(port)

    def any_of(self, nat_rows: Iterable[Uuid]) -> bool:
        """Whether one of some NAT rows is a distributed floating IP."""
        by_machine = self._find('nb', 'NAT', 'machine')
        return any(by_machine.keys_of(uuid) for uuid in nat_rows)
