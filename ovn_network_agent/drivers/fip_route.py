# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver fip_route: floating IPs, SNAT and router addresses through BGP.

For every address of a router whose gateway is here: a host route to the
provider bridge, flows that let the kernel and OVN hand packets to each other,
what BGP announces, and, as the provider network has no gateway, the default
route of the router in OVN.
"""

import functools
import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import bridges
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf.options import fip_route as options
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.drivers.common import gatewayless
from ovn_network_agent.drivers.common import relays
from ovn_network_agent.drivers.common import segments

_PORTS = 4096


class _Service(typing.NamedTuple):
    """What all addresses have in common that a port answers for here.

    One for the port, and one for machines of distributed floating IPs.
    """

    port: model.GatewayPort
    # No address outside of these is announced.
    nets: tuple[ip_text.Network, ...]
    # Otherwise this chassis only forwards their last packets.
    announced: bool
    # Whether OVN here answers for the addresses.
    hairpin: bool
    # None while no packets to the addresses can pass.
    segment: model.Segment | None
    mac_tweak: tuple[resources.Flow, ...]
    of_device: tuple[resources.Ref, ...]
    requires: tuple[resources.Ref, ...]


class FipRouteDriver(base.Driver):
    """Wants what makes the addresses of local routers reachable."""

    CONFIG_OPTS = options.OPTS
    OTHER_OPTIONS = announcing.OPTIONS
    SUBJECTS = (model.Node, model.Router, model.ServedAddress,
                model.GatewayGroup)
    ASKS = (plugins.ABSENCE,)

    def __init__(self, name: str, settings: typing.Any) -> None:
        super().__init__(name, settings)
        # Thousands of addresses share a port.
        self._service = functools.lru_cache(_PORTS)(self._new_service)

    def resources(self, subject: (model.Node | model.Router |
                                  model.ServedAddress | model.GatewayGroup),
                  node: model.Node) -> base.Wanted:
        """What makes addresses reachable, see the methods for each kind."""
        match subject:
            case model.Node():
                return segments.bridges_up(self._bridges(),
                                           self.settings.bridge_ip)
            case model.Router():
                return self._router(subject, node)
            case model.ServedAddress():
                return () if subject.port.vni else self._address(subject,
                                                                 node)
        return self._group(subject, node)

    def _group(self, group: model.GatewayGroup,
               node: model.Node) -> base.Wanted:
        """Resources that a standby prepares and that attract no packets.

        When the port comes, packets of virtual machines come out of OVN here
        at once.  In the lab, a port was announced after 1.1 to 1.9 s with an
        entry of the prefix list to write (vtysh is slow), and after 0.2 to 0.3
        s without.
        """
        if not self.settings.fip_route.standby_prepare:
            return
        for port in group.ports:
            if port.routed_by_ovn or port.vni:
                continue
            yield from announcing.device(self.settings, port, node)
            if port.chassis != node.chassis and segments.usable(
                    port.segment, self._bridges()):
                yield from segments.mac_tweak(port.segment)
                yield from announcing.prefix_list(self.settings,
                                                  self._networks(port))

    def _router(self, router: model.Router, node: model.Node) -> base.Wanted:
        if router.routed_by_ovn:
            return
        if router.local_ports:
            rows = list(gatewayless.rows(self.settings, router, node))
            yield from rows
            yield from self._proof(router, node, rows)
        else:
            yield from gatewayless.handed_over(router, router.default_routes)
        wanted: list[resources.Resource] = []
        for service in (
                *(self._service(port, False) for port in router.served_ports),
                *(self._service(port, True) for port in router.hosting_ports)):
            if service.port.vni:
                continue
            wanted += announcing.device(self.settings, service.port, node)
            if service.announced:
                wanted += announcing.prefix_list(self.settings, service.nets)
            wanted += service.mac_tweak
        # Both services of a port need the same objects.
        yield from dict.fromkeys(wanted)

    def _proof(self, router: model.Router, node: model.Node,
               rows: base.Wanted) -> base.Wanted:
        """The proof that the router is announced here, while it is missing.

        A proof on its route is retained, although no longer wanted, and says
        nothing about later addresses.  With default routes of both families it
        is about IPv4: both are announced at the same time, and an address of
        IPv6 that the fabric refuses must not delay those of IPv4.

        Nobody waits for a proof about a VNI: the former owner has withdrawn
        the addresses, and forwards what it still gets to the new one.
        """
        routes = {networks.family(row.prefix): row.ref for row in rows
                  if type(row) is resources.DefaultRoute}
        if node.hostname and routes and not (
                all(port.vni for port in router.local_ports) or
                announcing.proved(router, node)):
            version = min(routes)
            yield resources.Advertised(
                router.uuid, node.owner, version=version,
                requires=(routes[version],))

    # -- one gateway port -------------------------------------------------

    def _new_service(self, port: model.GatewayPort,
                     of_machines: bool) -> _Service:
        here = of_machines or port.local
        # A relay needs no OVN here.
        passes = (segments.located if port.relay and not here
                  else segments.usable)
        segment = (port.segment if passes(port.segment, self._bridges())
                   else None)
        of_device = segments.prerequisites(segment) if segment else ()
        mac_tweak = (tuple(segments.mac_tweak(segment))
                     if segment and segment.patch_port else ())
        return _Service(
            port, self._networks(port),
            of_machines or port.handover is not model.Handover.FORWARD,
            here, segment, mac_tweak, of_device,
            of_device + tuple(flow.ref for flow in mac_tweak))

    # -- one address ------------------------------------------------------

    def _address(self, served: model.ServedAddress,
                 node: model.Node) -> base.Wanted:
        """The route, the flows and the announcement of an address.

        A port that has left keeps what its handover still needs.  Where the
        segment is in doubt, the announcement stays as it is.  An address in no
        provider network has nothing, or for IPv6 a hairpin flow.
        """
        service = self._service(served.port, served.resident)
        in_network = networks.inside(served.address, service.nets)
        yield from self._left_out(served, service, in_network)
        if not served.answered or not in_network and (
                networks.family_of_valid(served.address) == 4):
            return
        # Routers of this chassis reach each other anyway; see decision record
        # 25.
        if service.segment and service.hairpin:
            yield _hairpin(served, service.segment)
        if served.withheld or not in_network:
            return
        if served.port.relay and not served.resident:
            yield from relays.leaving(served, self._bridges())
        if service.segment:
            yield from announcing.reachable(
                self.settings, node, served.address, service.segment,
                served.port.tag, service.of_device, service.requires,
                service.announced)
        elif service.announced:
            yield from announcing.kept(self.settings, node, served.address)

    def _left_out(self, served: model.ServedAddress, service: _Service,
                  in_network: bool) -> base.Wanted:
        port = served.port
        if served.resident:
            reason = segments.objection(port.segment, self._bridges())
            if reason:
                yield _problem(
                    served, '{count} of the distributed floating IPs '
                    '({some}) of machines on this chassis cannot be '
                    f'delivered: {reason}; {_remedy(port.segment)} clear '
                    'external_mac in the NAT rows')
            return
        if served.withheld or not port.local:
            return
        if served.unanswered and in_network:
            yield _problem(
                served, f'{served.address} of a load balancer is not '
                f'announced, because {served.unanswered}')
        # Configured networks leave out what they are to leave out.  Nor are
        # addresses of a family without a provider network meant to be
        # announced; for IPv4, a network is missing.
        family = networks.family_of_valid(served.address)
        if (served.answered and not in_network and
                not self.settings.network_cidr and
                not {'fip', 'snat', 'dnat'}.isdisjoint(served.kinds) and
                family in {4, *(net.version for net in service.nets)}):
            yield _problem(
                served, '{count} of the NAT addresses ({some}) in no '
                'network of its gateway ports, and not announced; to '
                'announce them, name all provider networks in [DEFAULT] '
                'network_cidr')

    def _networks(self, port: model.GatewayPort | model.GroupPort
                  ) -> tuple[ip_text.Network, ...]:
        return announcing.provider_networks(self.settings, port)

    def _bridges(self) -> tuple[str, ...]:
        return bridges.served(self.settings)


def _hairpin(served: model.ServedAddress,
             segment: model.Segment) -> resources.Flow:
    """Reflect traffic between two routers of this chassis into OVN.

    Both MACs are written: OVN would take its own source MAC for a loop, and
    the destination may not be resolved yet.
    """
    return resources.Flow(
        segment.bridge, ownership.COOKIE_HAIRPIN, ownership.PRIORITY_HAIRPIN,
        segment.patch_port, networks.family_of_valid(served.address),
        dst=networks.host_prefix(served.address), set_src=segment.mac,
        set_dst=served.mac, output='in_port')


def _problem(served: model.ServedAddress, text: str) -> resources.Problem:
    return resources.Problem(
        f'router {served.called}: {text}', router=served.router,
        addresses=(served.address,))


def _remedy(segment: model.Segment | None) -> str:
    return ('set ovn-bridge-mappings, or' if segment and not segment.bridge
            else 'if that is to stay so,')
