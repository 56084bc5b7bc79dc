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
import re

from ovn_network_agent import identity
from ovn_network_agent import iptext
from ovn_network_agent import model
from ovn_network_agent.ovsdb import columns

_FLOATING = 'dnat_and_snat'
_MAC = re.compile('[0-9a-f]{2}(:[0-9a-f]{2}){5}')


def nat(row, resident=lambda port: False):
    """:class:`model.Nat` of a NAT row.

    :param resident: function(name of a logical port) that returns whether the
        port is on this chassis
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


def machine_of(row):
    """The logical port of a distributed floating IP, '' for another row.

    :param row: NAT
    """
    if (columns.atom(row, 'type') != _FLOATING or
            not columns.atom(row, 'external_mac')):
        return ''
    return columns.atom(row, 'logical_port')


class Nats:
    """The NAT rows of all routers.

    :param resident: function(name of a logical port) that returns whether the
        port is on this chassis; a caller says with :meth:`changed` that the
        answer for a row is another one
    """

    def __init__(self, resident=lambda port: False):
        self._resident = resident
        self._routers = {}

    def forget(self):
        """Read everything anew the next time."""
        self._routers.clear()

    def changed(self, uuid, routers):
        """Note a new, deleted or changed row of NAT.

        :param uuid: UUID of the row
        :param routers: UUIDs of the routers whose values depend on the row
        """
        for router in routers:
            if router in self._routers:
                self._routers[router].changed.add(uuid)

    def drop(self, router):
        """Forget a router that is gone."""
        self._routers.pop(router, None)

    def of_router(self, uuid, references, table):
        """The present NAT rows of a router.

        :param uuid: UUID of the router
        :param references: tuple of the UUIDs of its rows, the same objects as
            before for the same rows
        :param table: dict of UUID to row of NAT
        :returns: (sorted tuple of :class:`model.Nat`, each once; list of str:
            rows left out because they are malformed; set of the UUIDs of the
            rows that were read now)
        """
        if uuid not in self._routers:
            self._routers[uuid] = _Router(self._resident)
        return self._routers[uuid].read(references, table)

    def residents(self, uuid):
        """The rows of distributed floating IPs with a machine here.

        :param uuid: UUID of a router, after :meth:`of_router`
        :returns: set of :class:`model.Nat`
        """
        return self._routers[uuid].residents


class _Router:
    """The NAT rows of one router.

    :param resident: see :class:`Nats`
    :ivar changed: UUIDs of the rows that are to be read again, a set
    :ivar residents: see :meth:`Nats.residents`
    """

    def __init__(self, resident):
        self._resident = resident
        self.changed = set()
        self.residents = set()
        # By UUID of each of the references the value or None, and the reason
        # why a row has none.
        self._references = ()
        self._values = {}
        self._bad = {}
        # How many rows have a value, and the values with their sort keys.
        self._counts = collections.Counter()
        self._keys, self._sorted = [], []

    def read(self, references, table):
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

    def _add(self, uuid, row):
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

    def _remove(self, uuid):
        """Forget a row; returns whether the row was known."""
        if uuid not in self._values:
            return False
        self._bad.pop(uuid, None)
        value = self._values.pop(uuid)
        if value is not None:
            self._uncount(value)
        return True

    def _uncount(self, value):
        self._counts[value] -= 1
        if not self._counts[value]:
            del self._counts[value]
            at = bisect.bisect_left(self._keys, _key(value))
            del self._keys[at], self._sorted[at]
            self.residents.discard(value)


def _key(nat):
    """Sort key of a :class:`model.Nat`; no two different ones are equal."""
    return (nat.external_ip, nat.type, nat.logical_ip, nat.distributed_mac,
            nat.resident, nat.gateway_port)


class Machines:
    """The machines of distributed floating IPs on this chassis.

    OVN answers for a distributed floating IP on the chassis that has the
    logical port of its NAT row.

    :param find: function(database, table, name) that returns the
        :class:`indexes.Index` of that name
    :ivar chassis: name of this chassis
    :ivar held: see :class:`model.wiring.Wiring`
    """

    def __init__(self, find):
        self._find = find
        self.chassis, self.held = '', frozenset()

    @property
    def wanted(self):
        """Whether the cloud has distributed floating IPs."""
        return bool(self._find('nb', 'NAT', 'machine').keys())

    def is_here(self, port):
        """Whether the port of a machine is on this chassis, and up.

        :param port: name of a logical port
        """
        hosted = self._find('sb', 'Port_Binding', 'hosted')
        bindings = self._find('sb', 'Port_Binding', 'machine').find(port)
        if not bindings:
            return port in self.held
        return any(self.chassis in hosted.keys_of(uuid) for uuid in bindings)

    def routers_here(self, bindings):
        """UUIDs of the routers with a floating IP of a machine here.

        :param bindings: dict of UUID to row of Port_Binding
        """
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

    def nat_rows(self, binding):
        """UUIDs of the NAT rows for the port of a machine.

        :param binding: UUID of a row of Port_Binding
        """
        for port in self._find('sb', 'Port_Binding',
                               'machine').keys_of(binding):
            yield from self._find('nb', 'NAT', 'machine').find(port)

    def any_of(self, nat_rows):
        """Whether one of some NAT rows is a distributed floating IP.

        :param nat_rows: iterable of UUIDs
        """
        by_machine = self._find('nb', 'NAT', 'machine')
        return any(by_machine.keys_of(uuid) for uuid in nat_rows)
