# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The node's side of egress addresses of the mode "host".  Pure.

OVN lets a machine out with its own address, and the kernel translates on
another link.  What drops comes first and goes last: a packet leaves translated
or not at all.
"""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.common import vlan_names
from ovn_network_agent.conf.options import bridges
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers.common import segments
from ovn_network_agent.nft import egress

_MARK = (ownership.MARK_EGRESS, ownership.MARK_EGRESS)
# The OTHER_OPTIONS of the driver.
OPTIONS = ('veth_leak.veth_leak_enabled',)


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
    return next((vlan_names.device(here[network], vlan)
                 for network, vlan in host.segments
                 if here.get(network, '') in served), '')


def _objection(host: model.EgressHost, node: model.Node,
               link: model.Link | None, device: str) -> str:
    beside = next((each for each in node.links
                   if networks.inside(host.machine, networks.of_version(
                       networks.family(host.machine), each.addresses))), None)
    if beside is not None:
        # The way back to the machine would be that to a host there.
        return (f'the network of {beside.name} has the address of the '
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
