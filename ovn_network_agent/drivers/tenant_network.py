# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver tenant_network: networks of tenants through BGP, without NAT.

For each prefix of tenants behind a router whose gateway is here: a route to
the gateway port, and what BGP announces.  The device, flows and default route
are of fip_route, and the way through the VRF and back of veth_leak.
"""

import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import bridges
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf.options import tenants as options
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.drivers.common import relays
from ovn_network_agent.drivers.common import segments


class TenantNetworkDriver(base.Driver):
    """Wants what makes networks of tenants reachable."""

    CONFIG_OPTS = options.NETWORK_OPTS
    OTHER_OPTIONS = (*announcing.OPTIONS, *announcing.ROUTE_OPTIONS,
                     'fip_route.standby_prepare')
    SUBJECTS = (model.GatewayGroup, model.TenantPrefix)
    ASKS = (plugins.TENANTS,)

    def events(self) -> tuple[base.Watch, ...]:
        """What the view has of machines, if they are announced."""
        if self.settings.tenant_network.advertisement_method != 'host':
            return ()
        return tuple(
            base.Watch('sb', 'Port_Binding', ('mac', 'virtual_parent'),
                       conditions=(('type', '=', kind),), urgent=True)
            for kind in ('', 'virtual'))

    def resources(self, subject: model.GatewayGroup | model.TenantPrefix,
                  node: model.Node) -> base.Wanted:
        """The route, the announcement and what permits it."""
        if isinstance(subject, model.GatewayGroup):
            return self._standby(subject, node)
        # Driver evpn has those of a VNI.
        return () if subject.port.vni else self._prefix(subject, node)

    def _standby(self, group: model.GatewayGroup,
                 node: model.Node) -> base.Wanted:
        """The entries of the prefix list, as fip_route prepares them."""
        if not self.settings.fip_route.standby_prepare:
            return
        hosts = self.settings.tenant_network.advertisement_method == 'host'
        for port in group.ports:
            if port.chassis == node.chassis or port.routed_by_ovn or port.vni:
                continue
            for subnet in (*port.routed, *port.balanced):
                network = ip_text.network(subnet)
                yield from announcing.permitted(
                    self.settings, subnet, network.max_prefixlen
                    if hosts or subnet in port.balanced else network.prefixlen)

    def _prefix(self, found: model.TenantPrefix,
                node: model.Node) -> base.Wanted:
        """The route to the gateway port, and the announcement.

        A port that has left keeps what its handover still needs.  The
        announcement stays as it is while the segment is in doubt, or nobody
        knows which router had the prefix first.
        """
        if found.withheld:
            return
        nets = announcing.provider_networks(self.settings, found.port)
        wrong = fault(found, networks.inside(found.via, nets))
        if wrong:
            what = (f'virtual IP {found.prefix}' if found.alone else
                    f'{found.subnet} of network {found.network}')
            yield resources.Problem(
                f'router {found.called}: {what} {"; ".join(wrong)}',
                router=found.router)
        if not found.announced or not networks.inside(found.via, nets):
            return
        port, served = found.port, bridges.served(self.settings)
        announced = port.handover is not model.Handover.FORWARD
        # A relay needs no OVN here.
        passes = (segments.located if port.relay and not port.local
                  else segments.usable)
        if found.claim is model.Claim.UNKNOWN or not passes(port.segment,
                                                            served):
            if announced:
                yield from announcing.kept(self.settings, node, found.prefix)
            return
        if port.relay:
            yield from relays.to_both(port, found.prefix, port.mac, found.via,
                                      served)
        if announced:
            yield from announcing.permitted(
                self.settings, found.subnet,
                ip_text.network(found.prefix).prefixlen)
        of_device = segments.prerequisites(port.segment)
        # OVN answers for the address of a router port only an asker in the
        # network of the port, which the device is not in.
        gateway = resources.Neighbour(port.segment.device, found.via, '',
                                      lladdr=port.mac, requires=of_device)
        yield gateway
        flows = (tuple(flow.ref for flow in segments.mac_tweak(port.segment))
                 if port.segment.patch_port else ())
        yield from announcing.reachable(
            self.settings, node, found.prefix, port.segment, found.tag,
            of_device, (*of_device, gateway.ref, *flows), announced,
            found.via)


class Fault(typing.NamedTuple):
    """What an operator should know about a prefix, and what follows."""

    text: str
    outcome: str
    remedy: str


def fault(found: model.TenantPrefix, in_network: bool = True) -> Fault | None:
    """The fault of a prefix that is not withheld on purpose, or None.

    :param in_network: whether the gateway port's address is in a provider
        network
    """
    if found.claimed:
        return Fault('overlaps with the provider network of router '
                     f'{found.claimed}', _REFUSED,
                     'give the network another subnet')
    if not in_network:
        return Fault(f'has its gateway {found.via} in no network of [DEFAULT] '
                     'network_cidr', _REFUSED,
                     'name all provider networks there')
    if not found.rivals:
        return None
    return Fault(
        f'overlaps with {", ".join(found.rivals)}', _OUTCOME[found.claim],
        f'give one of them another {"address" if found.alone else "subnet"}, '
        f'or set external_ids:{ownership.EXT_ID_ANNOUNCE} = false on its '
        f'{"load balancer" if found.alone else "network"} or router in OVN NB')


_REFUSED = 'it is not announced for this router'
_OUTCOME = {
    model.Claim.FIRST: 'it stays announced for this router, which had it '
                       'first',
    model.Claim.UNKNOWN: 'the announcement stays as it was found, because '
                         'the agent has started since and does not know who '
                         'had it first',
    model.Claim.REFUSED: _REFUSED,
}
