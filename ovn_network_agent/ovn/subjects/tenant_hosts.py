# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Single addresses in tenants' networks: of machines, and VIPs.  Pure.

A virtual IP whose network is not announced is judged alone: OVN lets its
answers leave with its address in spite of SNAT (decision record 0042).
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import typing

from ovn_network_agent import model
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.model import selection
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.subjects import policies
from ovn_network_agent.ovn.subjects import routers
from ovn_network_agent.ovn.subjects import segments
from ovn_network_agent.ovn.subjects import tenant_networks
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Uuid

_BINDING = 'Port_Binding'
_ROUTER = 'Logical_Router'

#: An address, and why it is not announced, or ''.
Host = tuple[str, str]


class TenantHosts:
    """The addresses of machines, by functions of rows (:mod:`ovn.queries`)."""

    def __init__(self, found: queries.Queries, known: inputs.Inputs,
                 behind: tenant_networks.TenantNetworks) -> None:
        self._rows = found
        self._inputs = known
        self._networks = behind

    def of_network(self, router: Uuid, network: tenant_networks.Network
                   ) -> tuple[Host, ...] | None:
        """The addresses of machines in a network behind a router.

        None if it is announced whole; extra routes have no known ones.
        """
        options = self._inputs.chosen.tenants
        if network.port is None or options is None or not options.hosts:
            return None
        net = ip_text.network(network.prefix)
        return tuple(
            host for uuid in self._rows.find(
                'sb', _BINDING, 'machines').find(network.datapath)
            for host in self._rows.ask(self._machine, router,
                                       network.port, uuid)
            if networks.inside(host[0], [net]))

    def _machine(self, router: Uuid, port: Uuid,
                 uuid: Uuid) -> tuple[Host, ...]:
        row = self._rows.row('sb', _BINDING, uuid)
        if row is None:
            return ()
        own = policies.of(self._rows.find('sb', _BINDING, 'policy'), uuid)
        found = self._rows.ask(self._networks.attached, port)
        return tuple(
            (address, self._floating(router, address) or
             self._inputs.chosen.selected.objection(
                 self._networks.subject(router, found, address, own)))
            for address in rows.machine(row, False)[0])

    def _floating(self, router: Uuid, address: str) -> str:
        """Why a machine with a floating IP is not announced, or ''."""
        by_nat = self._rows.find('nb', _ROUTER, 'nat')
        for nat in sorted(self._rows.find('nb', 'NAT',
                                          'logical').find(address)):
            row = self._rows.row('nb', 'NAT', nat)
            if router in by_nat.find(nat) and row is not None:
                return ('its answers leave with its floating IP '
                        f'{columns.atom(row, "external_ip")}')
        return ''


def prefixes(whole: model.TenantPrefix, hosts: Iterable[Host],
             previous: Mapping[str, model.TenantPrefix]
             ) -> Iterator[tuple[str, model.TenantPrefix]]:
    """Single addresses of a network, as prefixes that may be announced.

    Those that have not changed since ``previous`` stay the same objects.
    """
    made = {networks.host_prefix(address): why for address, why in hosts}
    # All of last time were made of one network, so one of them tells.
    known = next((previous[each] for each in made if each in previous), whole)
    same = whole == known._replace(prefix=whole.prefix,
                                   withheld=whole.withheld)
    for prefix, why in made.items():
        known = previous.get(prefix, whole)
        if not same or (prefix, why, whole.subnet, whole.vip) != (
                known.prefix, known.withheld, known.subnet, known.vip):
            known = whole._replace(prefix=prefix, withheld=why)
        yield prefix, known


class _Balanced(typing.NamedTuple):
    """A network of a tenant, its virtual IPs, and why they are withheld."""

    network: tenant_networks.Network
    vips: tuple[Host, ...]


class TenantVips:
    """The virtual IPs behind routers, and which may be announced."""

    def __init__(self, found: queries.Queries, known: inputs.Inputs,
                 located: segments.Segments, frames: routers.Routers,
                 behind: tenant_networks.TenantNetworks) -> None:
        self._rows = found
        self._inputs = known
        self._segments = located
        self._frames = frames
        self._networks = behind

    def in_network(self, router: Uuid, network: tenant_networks.Network
                   ) -> tuple[Host, ...]:
        """The virtual IPs in a network whose addresses are announced."""
        return next((each.vips for each in self._rows.ask(
            self._of_router, router) if each.network == network), ())

    def alone(self, router: Uuid) -> tuple[tenant_networks.Network, ...]:
        """The virtual IPs in networks that are not announced.

        Withheld in another router's announced or provider network.
        """
        return tuple(
            each.network._replace(
                prefix=networks.host_prefix(address),
                within=each.network.prefix,
                withheld=why or self._taken(router, each.network, address))
            for each in self._rows.ask(self._of_router, router)
            if each.network.withheld for address, why in each.vips)

    def balanced(self, router: Uuid) -> tuple[str, ...]:
        """The networks with virtual IPs that are announced one by one."""
        return tuple({each.within for each
                      in self._rows.ask(self.alone, router)
                      if not each.withheld})

    def rivals(self, router: Uuid,
               network: tenant_networks.Network) -> tuple[str, ...]:
        """The other routers with a virtual IP, for messages."""
        address = str(ip_text.network(network.prefix).network_address)
        version = networks.family(address)
        own = {*self._networks.domains(router, version)}
        return tuple(sorted(
            f'{network.prefix} of router {self._networks.called(other)}'
            for other in {
                other for balancer in self._rows.find(
                    'nb', 'Load_Balancer', 'address').find(address)
                for other in self._segments.routers(balancer)} - {router}
            if not own.isdisjoint(self._networks.domains(other, version)) and
            network.prefix in self._rows.ask(self._open, other)))

    def _open(self, router: Uuid) -> frozenset[str]:
        return frozenset(each.prefix for each
                         in self._rows.ask(self.alone, router)
                         if not each.withheld)

    def _of_router(self, router: Uuid) -> tuple[_Balanced, ...]:
        options = self._inputs.chosen.tenants
        if options is None or not options.vips:
            return ()
        frame = self._rows.ask(self._frames.frame, router)
        known = [(ip_text.address(each.address), each)
                 for each in frame.balanced]
        if not known:
            return ()
        own: dict[str, policies.Policy] = {}
        for address, policy in frame.judgement.own:
            own[address] = own.get(address, policies.NONE) + policy
        found = []
        for port in self._networks.ports(router):
            attached = self._rows.ask(self._networks.attached, port)
            for network in self._rows.ask(self._networks.at, router, port):
                net = ip_text.network(network.prefix)
                reason = self._objection(router, network, attached)
                found.append(_Balanced(network, tuple(
                    (each.address, reason or _unserved(each) or
                     self._inputs.chosen.selected.objection(
                         self._networks.subject(
                             router, attached, each.address,
                             own.get(each.address, policies.NONE))))
                    for ip, each in known if ip in net)))
        return tuple(each for each in found if each.vips)

    def _objection(self, router: Uuid, network: tenant_networks.Network,
                   found: tenant_networks.Attached) -> str:
        """Why the virtual IPs in a network are not announced, or ''."""
        options, net = (self._inputs.chosen.tenants,
                        ip_text.network(network.prefix))
        if options is None or options.vips_behind_snat:
            return self._networks.condition(router, net, found)
        translated = self._networks.translated(router, net)
        return self._networks.condition(router, net, found) or translated and (
            f'its router translates {translated} (SNAT), and [load_balancer] '
            'vips_behind_snat is false')

    def _taken(self, router: Uuid, network: tenant_networks.Network,
               address: str) -> str:
        """The network of another router that has a virtual IP, or ''."""
        ip = ip_text.address(address)
        return next((
            f'it is in {prefix} of router {self._networks.called(other)}'
            for prefix, other, public in self._rows.ask(
                self._overlapping, network.prefix, self._networks.domains(
                    router, networks.family_of_valid(network.prefix)))
            if (public or other != router) and ip in ip_text.network(prefix)),
            '')

    def _overlapping(self, prefix: str, domains: tuple[int, ...]
                     ) -> tuple[tuple[str, Uuid, bool], ...]:
        """The announced and provider networks that overlap with one.

        One result for a domain: thousands of tenants may have one network.
        """
        found = self._rows.ask(self._networks.sharing, prefix)
        return tuple((each, router, public) for domain in domains
                     for router, public in sorted(found.get(domain, ()))
                     for each in (
                         self._provider_networks(router, domain) if public
                         else self._networks.overlaps(router, prefix)))

    def _provider_networks(self, router: Uuid, domain: int) -> Iterator[str]:
        for port in self._rows.ask(self._frames.frame, router).router.ports:
            if port.domain == domain:
                yield from map(str, networks.provider_networks(port.networks))


def _unserved(found: model.BalancedAddress) -> str:
    """Why nothing behind the gateway answers for a virtual IP, or ''."""
    if found.unanswered not in ('', rows.NO_RESPONDER):
        return found.unanswered
    return selection.NO_BACKEND if found.without_backends else ''
