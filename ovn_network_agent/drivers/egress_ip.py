# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver egress_ip: machines leave the cloud with an address that stays.

All agents with the driver want the same rows in OVN NB; the backend lets one
of them write.

In the mode "host", OVN lets a machine out with its own address, and the kernel
translates on another link.  What drops comes first and goes last: a packet
leaves translated or not at all.
"""

import collections
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import bridges
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.common import notices
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf.options import egress_ip as options
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers.common import segments
from ovn_network_agent.nft import egress
from ovn_network_agent.resources import northbound as rows

_Places = list[model.EgressPlace]
_MARK = (ownership.MARK_EGRESS, ownership.MARK_EGRESS)
# What the view of the agent does not have.
_READ = (
    ('Logical_Switch', ('ports',)),
    ('Logical_Switch_Port', ('name', 'type', 'addresses', 'dynamic_addresses',
                             'options', 'external_ids')),
    ('Port_Group', ('name', 'ports', 'external_ids')),
    ('DHCP_Options', ('cidr', 'external_ids')),
    ('Logical_Router', ('policies',)))
_WRITTEN = {table: tuple(column for column in (*columns, 'external_ids')
                         if not column.startswith('ovn-network-agent'))
            for table, columns in rows.EGRESS_COLUMNS.items()}


def wanted(subject: model.EgressIp, node: model.Node, cleanup: bool,
           priority: int) -> base.Wanted:
    """The rows of all routers with machines of one egress address.

    :param cleanup: [egress_ip] cleanup_on_stop; priority is policy_priority
    """
    for why in filter(None, (subject.why, *subject.problems)):
        yield resources.Problem(f'egress address {subject.name}: {why}')
    by_router = collections.defaultdict(list)
    for place in subject.places:
        if place.why:
            yield resources.Problem(
                f'egress address {subject.name}: {_called(place)} has '
                f'none of IPv{place.family:d}: {place.why}',
                router=place.router)
        if place.address:
            by_router[place.router].append(place)
    for router, places in by_router.items():
        wanted = _rows(subject, router, places, priority)
        # What this node translates ends with its agent.
        if (node.phase is model.Phase.STOPPED and
                not cleanup and
                all(place.chassis != node.chassis for place in places)):
            yield resources.Keep(wanted.ref, foreign=True)
        else:
            yield wanted


def _rows(subject: model.EgressIp, router: str, places: _Places,
          priority: int) -> rows.EgressRows:
    machines: dict[int, list[str]] = {4: [], 6: []}
    for machine in subject.machines:
        if machine.router == router and not machine.why:
            machines[networks.family(machine.address)].append(
                machine.address)
    families = sorted({place.family for place in places})
    sets = {_set_name(subject.name, router, family, 'to'): tuple(sorted(
        each for each in subject.destinations
        if networks.family_of_valid(each) == family))
        for family in families} if subject.destinations else {}
    ecmp = subject.mode is model.EgressMode.ECMP
    if ecmp:
        sets.update((_set_name(subject.name, router, family, 'from'),
                     tuple(sorted(machines[family])))
                    for family in families)
    return resources.EgressRows(
        subject.name, router,
        tuple(sorted(_nat(subject, place, machine) for place in places
                     for machine in machines[place.family])),
        tuple(sorted(policy for family in families for policy in _policies(
            subject, router, priority, [
                place for place in places if place.family == family]))
              ) if ecmp else (),
        tuple(sorted(sets.items())))


def _policies(subject: model.EgressIp, router: str, priority: int,
              places: _Places) -> Iterator[rows.EgressPolicy]:
    """Lead machines to the gateway ports, if they leave the router.

    OVN makes each combination of prefixes of different length a flow for a
    match that excludes them, so another policy lets them pass.
    """
    family = places[0].family
    source, to = (f'ip{family}.{side} == $'
                  f'{_set_name(subject.name, router, family, name)}'
                  for side, name in (('src', 'from'), ('dst', 'to')))
    inner = ', '.join(places[0].inner_networks)
    if inner:
        yield resources.EgressPolicy(
            priority, f'{source} && ip{family}.dst == {{{inner}}}')
    yield resources.EgressPolicy(
        priority - 1, f'{source} && {to}' if subject.destinations else source,
        tuple(sorted({place.nexthop for place in places})))


def _nat(subject: model.EgressIp, place: model.EgressPlace,
         machine: str) -> rows.EgressNat:
    if place.chassis:
        return resources.EgressNat(machine, machine, address=place.address,
                                   chassis=place.chassis)
    return resources.EgressNat(
        machine, place.address, place.port,
        _set_name(subject.name, place.router, place.family, 'to')
        if subject.destinations else '')


def _called(place: model.EgressPlace) -> str:
    return f'router {place.called}' + f' ({place.port})' * bool(place.port)


def _set_name(name: str, router: str, family: int, what: str) -> str:
    return 'ona_egress_{}_{}_{}_ip{:d}'.format(
        name.replace('-', '_'), router.replace('-', '_'), what, family)


# -- the node's side of the mode "host" ---------------------------------------


def of_node(node: model.Node) -> base.Wanted:
    """What answers need, and what this node says in NB about its links.

    Also while it drains: its rows have to stay until the gateways are gone.
    Else OVN would translate connections to the address of the router, and go
    on with that after the move.
    """
    for version in {networks.family(address) for link in node.links
                    for address in link.addresses}:
        yield from _answers(version)
    if node.egress and node.phase in (model.Phase.RUNNING,
                                      model.Phase.DRAINING):
        addresses = tuple(sorted(address for link in node.links
                                 for address in link.addresses))
        if addresses and node.chassis:
            yield resources.EgressNetworks(node.chassis, addresses)


def _answers(version: int) -> Iterator[resources.Resource]:
    """The way of answers to machines, which nftables marks.

    Not by machines: an answer to one that leaves here no longer is dropped,
    and does not take the default route of the node.
    """
    family = 'ip6' if version == 6 else 'ip'
    yield resources.EgressTable(family, egress.digest(family))
    drop = resources.EgressDrop(
        ownership.EGRESS_DROP, resources.BLACKHOLE, fwmark=_MARK,
        ipv6=version == 6 or None)
    yield drop
    yield resources.Rule(
        ownership.EGRESS_BACK, ownership.EGRESS_BACK_TABLE, fwmark=_MARK,
        ipv6=version == 6 or None, requires=(drop.ref,))


def of_gateway(settings: typing.Any, ports: Iterable[
        model.GatewayPort | model.GroupPort],
        tenants: Iterable[str | ip_text.Network]) -> base.Wanted:
    """The drop of what OVN fails to translate, without a veth leak.

    OVN takes the end of an egress address over some milliseconds after its row
    is gone, so the drop does not go by the row.  A veth leak has its own
    drops.
    """
    if settings.frr.vrf_name and settings.veth_leak.veth_leak_enabled:
        return
    served = bridges.served(settings)
    for port in ports:
        if segments.located(port.segment, served):
            for tenant in tenants:
                yield _drop(str(tenant), port.segment.device)


def of_machine(settings: typing.Any, host: model.EgressHost,
               node: model.Node) -> base.Wanted:
    """The drops, and on the node that translates all that it needs."""
    served = bridges.served(settings)
    device = _device(host, node, served)
    machine = str(ip_text.network(host.machine))
    if device:
        drop = _drop(machine, device)
        if node.phase is model.Phase.STOPPED:
            # The rows may outlast this agent.
            yield resources.Keep(drop.ref, foreign=True)
            return
        yield drop
    if host.chassis != node.chassis:
        return
    link = next((link for link in node.links if link.is_on(host.address)),
                None)
    why = _objection(host, node, link, device)
    if link is None or why:
        yield resources.Problem(
            f'egress address {host.address} of {host.name}: {{count}} of '
            f'the machines of router {host.called} cannot leave ({{some}}): '
            f'{why}', router=host.router, addresses=(host.machine,))
        return
    back = tuple(_way_back(host, machine, device))
    yield from _way_out(host, machine, link, device, back[-1].ref)
    yield from back


def _drop(source: str, device: str) -> resources.EgressDrop:
    return resources.EgressDrop(ownership.EGRESS_DROP, resources.BLACKHOLE,
                                src=source, iif=device)


def _device(host: model.EgressHost, node: model.Node,
            served: Collection[str]) -> str:
    here = dict(node.bridge_mappings)
    return next((bridges.segment_device(here[network], vlan)
                 for network, vlan in host.segments
                 if here.get(network, '') in served), '')


def _objection(host: model.EgressHost, node: model.Node,
               link: model.Link | None, device: str) -> str:
    shared = next((each for each in node.links
                   if networks.inside(host.machine, networks.of_version(
                       networks.family(host.machine), each.addresses))), None)
    if shared is not None:
        # The way back to the machine would be that to a host there.
        return (f'the network of {shared.name} has the address of the '
                'machine; give the machine another one')
    if host.taken_by:
        return (f'{host.taken_by} has a machine with the same address on '
                'this node; give the objects different nodes (gateways)')
    if not host.via:
        return 'the router has no gateway port with an address of this family'
    if not device:
        return ('the provider network of the router is not on this node; set '
                'ovn-bridge-mappings')
    if link is None:
        return ('no link of this node has a network with the egress address; '
                'give a link an address there, or name another node')
    if link.crowded:
        return (f'{link.name} has more routes than are copied; use a link '
                'without the routes of BGP')
    return ''


def _way_out(host: model.EgressHost, machine: str, link: model.Link,
             device: str, back: resources.Ref) -> Iterator[resources.Resource]:
    table = ownership.EGRESS_TABLES[link.index]
    family = egress.family(host.machine)
    version = ip_text.address(host.machine).version
    nft, drop, answers = _answers(version)
    guard = resources.EgressMachine(family, host.machine, link.name)
    translation = resources.EgressSource(
        family, host.machine, link.name, host.address,
        requires=(nft.ref, guard.ref, back, drop.ref, answers.ref))
    held = resources.EgressHeld(family, host.address)
    yield from (guard, translation, held)
    yield resources.EgressAddress(
        link.name, str(ip_text.network(host.address)), requires=(held.ref,))
    if version == 4:
        yield resources.Sysctl(f'net/ipv4/conf/{link.name}/forwarding', '1')
        # rp_filter looks for the way back as of a packet from the link without
        # a mark.
        yield resources.Rule(
            ownership.EGRESS_BACK, ownership.EGRESS_BACK_TABLE, dst=machine,
            iif=link.name, requires=(guard.ref,))
    else:
        # The kernel tells all hosts there of a new address.
        yield resources.Sysctl(f'net/ipv6/conf/{link.name}/ndisc_notify', '1')
    for dst, via in link.routes:
        if (':' in dst) == (version == 6):
            yield resources.EgressRoute(table, dst, link.name, via or None)
    yield resources.Rule(
        ownership.EGRESS_OUT, table, src=machine, iif=device,
        requires=(nft.ref, guard.ref, held.ref, _drop(machine, device).ref))


def _way_back(host: model.EgressHost, machine: str,
              device: str) -> Iterator[resources.Resource]:
    # OVN answers for the address of a router port only an asker in the network
    # of the port, which the device is not in.
    gateway = resources.Neighbour(device, host.via, '', lladdr=host.mac)
    yield gateway
    yield resources.EgressRoute(ownership.EGRESS_BACK_TABLE, machine, device,
                                host.via, requires=(gateway.ref,))


class EgressIpDriver(base.Driver):
    """Wants the rows of egress addresses, and what this node translates."""

    CONFIG_OPTS = options.OPTS
    OTHER_OPTIONS = ('veth_leak.veth_leak_enabled',)
    SUBJECTS = (model.Node, model.Router, model.GatewayGroup, model.EgressIp,
                model.EgressHost)
    ASKS = (plugins.STATIC_ROUTES, plugins.LINKS, plugins.ABSENCE)

    def events(self) -> tuple[base.Watch, ...]:
        """The columns of NB that machines are found by, and those of rows."""
        return (*(base.Watch('nb', table, columns)
                  for table, columns in _READ),
                *(base.Watch('nb', table, columns, stale=(notices.EGRESS,))
                  for table, columns in _WRITTEN.items()))

    def resources(self, subject: (
            model.Node | model.Router | model.GatewayGroup | model.EgressIp |
            model.EgressHost), node: model.Node) -> base.Wanted:
        """The rows of one egress address, or what one subject needs here."""
        match subject:
            case model.EgressIp():
                chosen = self.settings.egress_ip
                return wanted(
                    subject, node, chosen.cleanup_on_stop,
                    chosen.policy_priority)
            case model.Node():
                return of_node(node)
            case model.Router():
                return of_gateway(
                    self.settings, subject.served_ports, subject.tenants)
            case model.GatewayGroup():
                return (drop for port in subject.ports
                        for drop in of_gateway(
                            self.settings, (port,), port.tenants))
        return of_machine(self.settings, subject, node)
