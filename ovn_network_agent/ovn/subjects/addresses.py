# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The addresses of routers that this chassis answers for, one by one.  Pure.

A router may have thousands of NAT rows, of which an event changes one: only
changed rows are read, and an unchanged address stays the same object.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import ipaddress
import itertools
import operator
import re
import typing
from typing import Any

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import bucketed_mapping
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.model import selection
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn.subjects import policies
from ovn_network_agent.ovn.subjects import routers
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Uuid

_ROUTER = 'Logical_Router'
_ORDER = operator.attrgetter('type', 'logical_ip', 'distributed_mac',
                             'resident', 'gateway_port')
_MAC = re.compile('[0-9a-f]{2}(:[0-9a-f]{2}){5}')


def nat(row: Row, resident: Callable[[str], bool]) -> model.Nat:
    """The value of a NAT row.

    :param resident: whether a logical port is on this chassis
    :raises ValueError: external_ip or external_mac is malformed
    """
    text = columns.atom(row, 'external_ip')
    try:
        external = ip_text.canonical(text)
    except ValueError:
        raise ValueError(f'NAT row {row.uuid}: external_ip {text!r} is not an '
                         'IP address') from None
    kind, logical = (columns.atom(row, column)
                     for column in ('type', 'logical_ip'))
    gateway_port = next((columns.atom(port, 'name') for port
                         in columns.rows(row, 'gateway_port')), '')
    machine = indexes.machine_of(row)
    if not machine:
        return model.Nat(kind, external, logical, gateway_port=gateway_port)
    mac = columns.atom(row, 'external_mac').lower()
    if not _MAC.fullmatch(mac):
        # ovn-northd leaves out such a row, too (lrouter_check_nat_entry).
        raise ValueError(f'NAT row {row.uuid}: external_mac {mac!r} is not a '
                         'MAC address')
    return model.Nat(kind, external, logical, mac, resident(machine),
                     gateway_port)


class Facts(typing.NamedTuple):
    """What the NAT rows of a router say about the router as a whole."""

    # Of machines on this chassis.
    residents: frozenset[model.Nat] = frozenset()
    tenants: frozenset[ipaddress.IPv4Network] = frozenset()  # see model.Router
    distributed: bool = False
    problems: tuple[str, ...] = ()


class Addresses:
    """The addresses of the routers that concern this chassis."""

    def __init__(self, found: queries.Queries, known: inputs.Inputs) -> None:
        self._rows = found
        self._inputs = known
        self._routers: dict[Uuid, OfRouter] = {}
        self._touched: set[Uuid] = set()
        self._read: set[Uuid] = set()

    def forget(self) -> None:
        """Have everything read again."""
        for router, known in self._routers.items():
            known.touch_all()
            self._touched.add(router)

    def drop(self, router: Uuid) -> None:
        """Forget a router that does not concern this chassis any more."""
        self._routers.pop(router, None)

    def of(self, router: Uuid) -> 'OfRouter':
        """The addresses of a router, which has its present NAT rows."""
        if router not in self._routers:
            self._routers[router] = OfRouter(self._rows, self._is_here,
                                             router)
        return self._routers[router]

    def facts(self, router: Uuid) -> Facts:
        """A function of rows, see :mod:`ovn.queries`."""
        self._rows.note(('facts', router))
        return self.of(router).facts()

    def note_change(self, table: str, uuid: Uuid,
                    changed: Mapping[str, set[Any]]) -> None:
        """Note a new, deleted or changed row, after the indexes."""
        if table == 'NAT':
            self._touch(uuid, bool(changed['tenant']))
        elif table == _ROUTER:
            for nat in changed['nat']:
                self._touch_of(uuid, nat)
        elif table == 'Port_Binding':
            machines = self._rows.index('nb', 'NAT', 'machine')
            for port in {*changed['machine'], *self._rows.index(
                    'sb', table, 'machine').keys_of(uuid)}:
                for nat in machines.find(port):
                    self._touch(nat)

    def _touch(self, nat: Uuid, was_tenant: bool = False) -> None:
        """Read a row again for the routers that have the row."""
        for router in self._rows.index('nb', _ROUTER, 'nat').find(nat):
            self._touch_of(router, nat, was_tenant)

    def _touch_of(self, router: Uuid, nat: Uuid,
                  was_tenant: bool = False) -> None:
        if was_tenant or self._rows.index('nb', 'NAT', 'tenant').keys_of(nat):
            self._rows.outdate(('tenants', router))
        if router in self._routers:
            self._routers[router].touched.add(nat)
            self._touched.add(router)

    def read(self) -> None:
        """Read the rows that have changed."""
        self._touched &= self._routers.keys()
        self._read |= self._touched
        for router in self._touched:
            before = self._routers[router].facts()
            self._routers[router].read()
            if self._routers[router].facts() != before:
                self._rows.outdate(('facts', router))
        self._touched = set()

    def take_read(self) -> set[Uuid]:
        """The routers with rows that were read since the last time."""
        found, self._read = self._read, set()
        return found

    def routers_here(self) -> Iterator[Uuid]:
        """The routers with a floating IP of a machine here, by rows."""
        machines = self._rows.find('nb', 'NAT', 'machine')
        if not machines.keys():
            return
        by_nat = self._rows.find('nb', _ROUTER, 'nat')
        names = self._rows.find('sb', 'Port_Binding', 'machine')
        hosted = self._rows.find('sb', 'Port_Binding', 'hosted').find(
            self._inputs.wiring.chassis)
        for port in (*(name for uuid in hosted
                       for name in names.keys_of(uuid)),
                     *self._inputs.wiring.held):
            for nat in machines.find(port):
                yield from by_nat.find(nat)

    def _is_here(self, port: str) -> bool:
        """Whether a machine is here, and up: OVN answers for it here then."""
        hosted = self._rows.index('sb', 'Port_Binding', 'hosted')
        bindings = self._rows.index('sb', 'Port_Binding',
                                    'machine').find(port)
        if not bindings:
            return port in self._inputs.wiring.held
        return any(self._inputs.wiring.chassis in hosted.keys_of(uuid)
                   for uuid in bindings)


def tenants(found: queries.Queries, router: Uuid) -> frozenset[str]:
    """Networks of tenants that a router translates; a function of rows."""
    return frozenset(
        tenant for tenant in translated(found, router)
        if networks.translated(tenant) is not None)


def translated(found: queries.Queries, router: Uuid) -> frozenset[str]:
    """All that rows of SNAT translate, also of IPv6, and everything."""
    found.note(('tenants', router))
    by_nat = found.index('nb', 'NAT', 'tenant')
    return frozenset(
        tenant for nat in found.index('nb', _ROUTER, 'nat').keys_of(router)
        for tenant in by_nat.keys_of(nat))


class OfRouter:
    """The addresses of one router."""

    def __init__(self, found: queries.Queries,
                 is_here: Callable[[str], bool], router: Uuid) -> None:
        self._rows = found
        self._is_here = is_here
        self._router = router
        #: to be read
        self.touched: set[Uuid] = set()
        self._values: dict[Uuid, model.Nat] = {}
        # By address the rows; most addresses have one.
        self._by_address: dict[str, tuple[Uuid, ...]] = {}
        self._residents: dict[Uuid, model.Nat] = {}  # what few rows have
        self._tenants: dict[Uuid, ipaddress.IPv4Network] = {}
        self._problems: dict[Uuid, tuple[str, ...]] = {}
        self._distributed = 0
        # Translated to themselves; OVN has them in nat_addresses a moment
        # longer.
        self._machines: dict[Uuid, str] = {}
        self._never_sent: set[str] = set()
        self._outdated: set[str] = set()
        self._frame: routers.Frame | None = None
        self._ports: tuple[model.GatewayPort, ...] = ()
        self._sent: dict[str, frozenset[str]] = {}
        self._balanced: dict[str, model.BalancedAddress] = {}
        #: a second answer for one address has its number behind it; the same
        #: mapping while no address has changed
        self.present: bucketed_mapping.Buckets[
            model.ServedAddress] = bucketed_mapping.EMPTY
        self.touch_all()
        self.read()

    def touch_all(self) -> None:
        """Have all former and present rows read again."""
        self.touched.update(self._values, self._problems, self._rows.index(
            'nb', _ROUTER, 'nat').keys_of(self._router))

    def read(self) -> None:
        """Read the rows that have changed."""
        by_nat = self._rows.index('nb', _ROUTER, 'nat')
        for uuid in self.touched:
            self._remove(uuid)
            row = (self._rows.present('nb', 'NAT', uuid)
                   if self._router in by_nat.find(uuid) else None)
            if row is None:
                continue
            if indexes.keeps_address(row):
                self._machines[uuid] = columns.atom(row, 'external_ip')
                self._outdated.add(self._machines[uuid])
            else:
                self._add(uuid, row)
        self.touched.clear()

    def facts(self) -> Facts:
        """What the rows say about the router as a whole."""
        return Facts(
            frozenset(self._residents.values()),
            frozenset(self._tenants.values()), self._distributed > 0,
            tuple(sorted({problem for found in self._problems.values()
                          for problem in found})))

    def update(self, router: model.Router, frame: routers.Frame,
               sent: Iterable[tuple[str, frozenset[str]]]) -> None:
        """Bring the addresses up to date; the router has handover states."""
        outdated, self._outdated = self._outdated, set()
        previous, self._sent = self._sent, dict(sent)
        for lrp in previous.keys() | self._sent.keys():
            outdated |= (previous.get(lrp, frozenset()) ^
                         self._sent.get(lrp, frozenset()))
        if frame is not self._frame or router.ports != self._ports:
            self._frame, self._ports = frame, router.ports
            self._balanced = {each.address: each for each in frame.balanced}
            outdated = {*self._by_address, *networks.own_addresses(router),
                        *self._balanced,
                        *itertools.chain(*self._sent.values()),
                        *(each.address for each in self.present.values())}
        if outdated:
            self._never_sent = set(self._machines.values()) | (
                self._never_sent.intersection(
                    itertools.chain(*self._sent.values())))
            self._build(router, outdated)

    def sources(self, address: str) -> networks.AddressSources:
        """The sources of an address."""
        nats = [self._values[uuid]
                for uuid in self._by_address.get(address, ())]
        return networks.AddressSources(
            sorted(set(nats), key=_ORDER) if len(nats) > 1 else nats,
            self._balanced.get(address),
            [lrp for lrp, sent in self._sent.items() if address in sent and
             address not in self._never_sent])

    def _build(self, router: model.Router, outdated: Iterable[str]) -> None:
        own = networks.own_addresses(router)
        removed: list[str] = []
        added: dict[str, model.ServedAddress] = {}
        for address in outdated:
            removed += self._keys(address)
            for number, subject in enumerate(networks.served_addresses(
                    router, address, self.sources(address),
                    own.get(address, ()))):
                withheld = (self.objection(address, subject.port.lrp) or
                            self._without_backends(subject))
                if withheld:
                    subject = subject._replace(withheld=withheld)
                added[_key(address, number)] = subject
        self.present = self.present.changed(removed, added)

    def _keys(self, address: str) -> Iterator[str]:
        """The keys of an address in the last view."""
        return itertools.takewhile(self.present.__contains__, (
            _key(address, number) for number in itertools.count()))

    def _without_backends(self, subject: model.ServedAddress) -> str:
        balanced = self._balanced.get(subject.address)
        return selection.NO_BACKEND if balanced and (
            balanced.without_backends and
            {'router', 'snat'}.isdisjoint(subject.kinds)) else ''

    def objection(self, address: str, lrp: str) -> str:
        """Why an address is not announced on purpose, or ''."""
        if self._frame is None:
            return ''
        by_nat, policy = self._rows.index('nb', 'NAT', 'policy'), policies.NONE
        if by_nat.keys():
            policy = sum(
                (part for uuid in sorted(self._by_address.get(address, ()))
                 for part in by_nat.keys_of(uuid)), policy)
        judgement = self._frame.judgement
        return '' if judgement.silent and not (
            policy.own or policy.native) else judgement.objection(
                address, lrp, policy)

    def _add(self, uuid: Uuid, row: Row) -> None:
        problems = [problem for part in self._rows.index(
            'nb', 'NAT', 'policy').keys_of(uuid) for problem in part.problems]
        try:
            value = nat(row, self._is_here)
        except ValueError as error:
            self._problems[uuid] = (*problems, str(error))
            return
        if problems:
            self._problems[uuid] = tuple(problems)
        self._values[uuid] = value
        self._by_address[value.external_ip] = (
            *self._by_address.get(value.external_ip, ()), uuid)
        self._outdated.add(value.external_ip)
        self._distributed += bool(value.distributed_mac)
        if value.resident:
            self._residents[uuid] = value
        if value.type == 'snat' and not columns.entry(
                row, 'external_ids', ownership.EXT_ID_EGRESS):
            network = networks.translated(value.logical_ip)
            if network is not None:
                self._tenants[uuid] = network

    def _remove(self, uuid: Uuid) -> None:
        for few in (self._residents, self._tenants, self._problems,
                    self._machines):
            if few:
                few.pop(uuid, None)
        value = self._values.pop(uuid, None)
        if value is None:
            return
        self._distributed -= bool(value.distributed_mac)
        self._outdated.add(value.external_ip)
        left = tuple(each for each in self._by_address[value.external_ip]
                     if each != uuid)
        if left:
            self._by_address[value.external_ip] = left
        else:
            del self._by_address[value.external_ip]


def _key(address: str, number: int) -> str:
    return f'{address} ({number + 1})' if number else address
