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

"""The addresses of routers that this chassis answers for, one by one.  Pure.

NAT rows, the addresses of ports, what OVN lists in nat_addresses, and virtual
IPs of load balancers are four sources of one kind of subject.  A router may
have thousands of addresses, and an event changes one of them: an address of
an unchanged source is the same object as before.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import itertools
import typing

from ovn_network_agent import identity
from ovn_network_agent import model
from ovn_network_agent import networks

_OF_TYPE = {'dnat_and_snat': 'fip', 'snat': 'snat', 'dnat': 'dnat'}

#: By address; a second answer for one address has its number behind it.
Addresses = dict[str, model.ServedAddress]


def of(router: model.Router) -> tuple[model.Router, Addresses]:
    """A router as drivers see it, and its addresses."""
    made = _Router()
    made.update(router)
    return made.alone[''], made.addresses


class Routers:
    """Keeps the addresses of all routers up to date."""

    def __init__(self) -> None:
        self._routers: dict[str, _Router] = {}

    def update(self, routers: Iterable[model.Router]) -> tuple[
            dict[str, dict[str, model.Router]], dict[str, Addresses]]:
        """The routers as drivers see them, and their addresses, by UUID.

        A router is alone in a dict.  A dict that is the same as before has
        not changed.
        """
        known, self._routers = self._routers, {}
        for router in routers:
            made = known.get(router.uuid) or _Router()
            made.update(router)
            self._routers[router.uuid] = made
        return ({uuid: made.alone for uuid, made in self._routers.items()},
                {uuid: made.addresses
                 for uuid, made in self._routers.items()})


class _Claim(typing.NamedTuple):
    """What one source says about an address."""

    port: model.GatewayPort
    mac: str
    kind: str
    resident: bool = False
    unanswered: str = ''


class _Router:
    """The addresses of one router.

    ``alone`` has the router without what belongs to single addresses.
    """

    def __init__(self) -> None:
        self._last = self._frame = model.Router('', '')
        self.alone = {'': self._last}
        self.addresses: Addresses = {}
        # The sources by address; nat_addresses by port.
        self._nats: dict[str, tuple[model.Nat, ...]] = {}
        self._sent: dict[str, frozenset[str]] = {}
        self._balanced: dict[str, model.BalancedAddress] = {}
        self._own: dict[str, list[model.GatewayPort]] = {}
        self._translating: set[model.Nat] = set()
        self._distributed = 0

    def update(self, router: model.Router) -> None:
        """Bring the addresses up to date."""
        last, self._last = self._last, router
        if router is last:
            return
        touched = self._take_nats(last.nats, router.nats)
        touched |= self._take_sent(router.ports)
        # OVN changes nat_addresses with each floating IP, and the agent
        # changes default routes: neither is about all addresses.
        frame = dataclasses.replace(
            router, nats=(), default_routes=(), problems=(), ports=tuple(
                dataclasses.replace(port, nat_addresses=())
                for port in router.ports))
        if frame != self._frame:
            self._frame = frame
            self._balanced = {each.address: each for each in router.balanced}
            self._own = {}
            for port in frame.served_ports:
                for found in map(networks.parse_interface, port.networks):
                    if found is not None:
                        self._own.setdefault(str(found.ip), []).append(port)
            touched = {*self._nats, *self._own, *self._balanced,
                       *itertools.chain(*self._sent.values()),
                       *(each.address for each in self.addresses.values())}
        if touched:
            self._build(touched)
        bare = dataclasses.replace(
            self._frame, default_routes=router.default_routes, balanced=(),
            withheld=(), tenants=frozenset(filter(None, (
                networks.translated(nat.logical_ip)
                for nat in self._translating))),
            distributed=self._distributed > 0)
        if bare != self.alone['']:
            self.alone = {'': bare}

    def _take_sent(self, ports: Iterable[model.GatewayPort]) -> set[str]:
        """Take note of nat_addresses; returns those of a changed port."""
        before, self._sent = self._sent, {
            port.lrp: frozenset(port.nat_addresses) for port in ports}
        return set().union(*(
            self._sent.get(lrp, frozenset()) ^ before.get(lrp, frozenset())
            for lrp in before.keys() | self._sent.keys()))

    def _take_nats(self, before: tuple[model.Nat, ...],
                   now: tuple[model.Nat, ...]) -> set[str]:
        """Take note of the NAT rows; returns the addresses of changed ones."""
        gone, come = identity.difference(before, now)
        for nat in gone:
            self._nats[nat.external_ip] = tuple(
                each for each in self._nats[nat.external_ip]
                if each is not nat)
            if not self._nats[nat.external_ip]:
                del self._nats[nat.external_ip]
        for nat in come:
            self._nats[nat.external_ip] = (
                *self._nats.get(nat.external_ip, ()), nat)
        self._distributed += (sum(bool(nat.distributed_mac) for nat in come) -
                              sum(bool(nat.distributed_mac) for nat in gone))
        self._translating.difference_update(
            nat for nat in gone if nat.type == 'snat')
        self._translating.update(nat for nat in come if nat.type == 'snat')
        return {nat.external_ip for nat in (*gone, *come)}

    def _build(self, touched: Iterable[str]) -> None:
        made = self.addresses.copy()
        withheld = dict(self._frame.withheld)
        for address in touched:
            former = list(_take_out(made, address))
            for number, subject in enumerate(self._subjects(
                    address, withheld.get(address, ''))):
                made[_key(address, number)] = (
                    former[former.index(subject)] if subject in former
                    else subject)
        self.addresses = made

    def _subjects(self, address: str,
                  withheld: str) -> Iterator[model.ServedAddress]:
        """The answers for an address: one, unless sources disagree."""
        router = self._frame
        by_answer: dict[tuple[str, str], list[_Claim]] = {}
        for claim in self._claims(router, address):
            by_answer.setdefault((claim.port.lrp, claim.mac), []).append(claim)
        for claims in by_answer.values():
            kinds = {claim.kind for claim in claims if not claim.unanswered}
            yield model.ServedAddress(
                router.uuid, router.called, address, claims[0].mac,
                claims[0].port,
                tuple(kind for kind in model.KINDS if kind in kinds),
                any(claim.resident for claim in claims), withheld,
                next((claim.unanswered for claim in claims
                      if claim.unanswered), ''))

    def _claims(self, router: model.Router,
                address: str) -> Iterator[_Claim]:
        if not router.ports or router.routed_by_ovn:
            return
        nats = self._nats.get(address, ())
        for nat in nats:
            yield from _of_nat(router, nat)
        balanced = self._balanced.get(address)
        if balanced is not None:
            yield from _of_balancer(router, balanced)
        for port in self._own.get(address, ()):
            yield _Claim(port, port.mac, 'router')
        # OVN sends floating IPs, too, and SNAT a moment before NAT has it.
        if balanced is None and all(nat.type == 'snat' for nat in nats):
            for port in router.served_ports:
                if address in self._sent[port.lrp]:
                    yield _Claim(port, port.mac, 'snat')


def _of_nat(router: model.Router, nat: model.Nat) -> Iterator[_Claim]:
    """The port or the machine here that answers for a NAT row."""
    port = (router.ports[0] if len(router.ports) == 1 else
            networks.owner_of(nat, router.ports))
    if port is None:
        return
    if nat.distributed_mac:
        if nat.resident and port.hosting:
            yield _Claim(port, nat.distributed_mac, 'fip', True)
    elif port.served:
        yield _Claim(port, port.mac, _OF_TYPE.get(nat.type, 'dnat'))


def _of_balancer(router: model.Router,
                 balanced: model.BalancedAddress) -> Iterator[_Claim]:
    """The port that answers for a virtual IP.

    It may be an address of a tenant.  For IPv6, OVN has no flow for that one.
    """
    port = networks.owner(balanced.address, router.ports)
    if port.served and (networks.family(balanced.address) == 4 or
                        networks.inside(balanced.address, networks.of_version(
                            6, port.networks))):
        yield _Claim(port, port.mac, 'fip' if balanced.floating else 'vip',
                     unanswered=balanced.unanswered)


def _key(address: str, number: int) -> str:
    return f'{address} ({number + 1})' if number else address


def _take_out(made: Addresses,
              address: str) -> Iterator[model.ServedAddress]:
    """Remove the answers for an address."""
    number = 0
    while (subject := made.pop(_key(address, number), None)) is not None:
        yield subject
        number += 1
