# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver port_forward: VIPs whose ports are forwarded to destinations.

One nftables table for each family, the policy rules for marked packets, and
the announcement of each VIP, by its address on a device or a static route.

Pure.  :mod:`nft.rendering` says what nft reads for these values.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import functools
import ipaddress
import itertools
import math
import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.conf import mode
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf.options import port_forward as options
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.drivers.common import consistent_hashing
from ovn_network_agent.model import port_forwards
from ovn_network_agent.nft import rendering
from ovn_network_agent.nft import values


class Manner(typing.NamedTuple):
    """The part of the configuration that the table depends on."""

    # Of connection tracking.
    zone: int
    # 'jhash' or 'consistent'.
    balance: str
    # Whether VIPs are in a VRF, so that replies have to go back there.
    vrf: bool
    vnis: bool = False


def family(version: int) -> str:
    """Name of an address family for nft: 'ip' or 'ip6'."""
    return 'ip' if version == 4 else 'ip6'


def wanted(version: int, vips: Iterable[port_forwards.Vip],
           manner: Manner) -> resources.NftTable:
    """The table of one family, for at least one VIP of that family."""
    table = values.Table(
        family(version), manner.zone, manner.vrf,
        tuple(_vip(vip, manner.balance) for vip in vips), manner.vnis)
    return resources.NftTable(
        table.family, rendering.digest(rendering.text(table)), table,
        tuple(values.targets(table)))


def _vip(vip: port_forwards.Vip, balance: str) -> values.Vip:
    return values.Vip(
        vip.address, vip.hairpin_masquerade, vip.router_masquerade,
        tuple(_service(rule, balance) for rule in vip.rules))


# Each death of a destination asks for all rules.
@functools.lru_cache(maxsize=16384)
def _service(rule: port_forwards.Rule, balance: str) -> values.Service:
    usable = rule.usable
    return values.Service(
        rule.proto, rule.port, rule.dest_port, rule.masquerade,
        tuple(values.Destination(each.address, each.alive or each in usable)
              for each in rule.destinations),
        _shares(rule, balance))


def _shares(rule: port_forwards.Rule, balance: str
            ) -> tuple[tuple[int, int], ...]:
    """The share of the clients that each destination of a rule gets.

    :returns: (index in ``rule.destinations``, number of buckets), see
        :func:`nft.rendering.balance`
    """
    usable = rule.usable
    places = {destination.address: index
              for index, destination in enumerate(rule.destinations)}
    if len(usable) == 1:
        return ((places[usable[0].address], 1),)
    if balance == 'consistent' and usable:
        weights = frozenset((each.address, each.weight)
                            for each in rule.destinations if each.weight)
        excluded = frozenset(address for address, _weight in weights) - {
            destination.address for destination in usable}
        return tuple(
            (places[address], len(list(same))) for address, same
            in itertools.groupby(consistent_hashing.owners(weights, excluded)))
    common = math.gcd(*(destination.weight for destination in usable))
    return tuple((places[destination.address], destination.weight // common)
                 for destination in usable)


class PortForwardDriver(base.Driver):
    """Wants the nftables tables and the announcements of VIPs."""

    CONFIG_OPTS = options.OPTS
    OTHER_OPTIONS = ('drivers', 'fip_route.standby_prepare',
                     'veth_leak.veth_leak_rule_priority',
                     *announcing.OPTIONS, *mode.DECISIVE)
    SUBJECTS = (model.Node, model.Router, model.ServedAddress,
                model.GatewayGroup, port_forwards.Forwards)

    # -- what follows the routers -----------------------------------------

    @classmethod
    def runs_without_ovn(cls, settings: typing.Any) -> bool:
        """Its rules come from a file."""
        return True

    def resources(self, subject: (model.Node | model.Router |
                                  model.ServedAddress | model.GatewayGroup |
                                  port_forwards.Forwards),
                  node: model.Node) -> base.Wanted:
        """Elements of the nftables table, and the VIPs of the rules file."""
        match subject:
            case model.Node():
                return self._node(node)
            case model.Router():
                return self._router(subject, node)
            case model.ServedAddress():
                return self._address(subject, node)
            case model.GatewayGroup():
                return self._group(subject, node)
        return self._forwards(subject, node)

    def _node(self, node: model.Node) -> base.Wanted:
        """The configured provider networks, merged; none without `extent`."""
        for version in node.extent.versions if node.extent else ():
            found: typing.Any = networks.of_version(
                version, self.settings.network_cidr)
            yield from self._networks(
                version, tuple(ipaddress.collapse_addresses(found)))

    def _router(self, router: model.Router, node: model.Node) -> base.Wanted:
        for version, found in self._of_ports(router.used_ports, node):
            yield from self._networks(version, found)

    def _address(self, served: model.ServedAddress,
                 node: model.Node) -> base.Wanted:
        version = networks.family_of_valid(served.address)
        if ('snat' in served.kinds and served.answered and node.extent and
                not served.port.vni and version in node.extent.routers):
            yield resources.NftElement(family(version),
                                       ownership.NFT_SNAT, served.address)

    def _group(self, group: model.GatewayGroup,
               node: model.Node) -> base.Wanted:
        """The networks of a standby, so that the guard knows them in time.

        When the port comes, the guard of another network would drop the
        packets of virtual machines until nft has run.  These networks alone do
        not switch the guard on.
        """
        if self.settings.fip_route.standby_prepare:
            ports = [port for port in group.ports
                     if port.chassis != node.chassis]
            for version, found in self._of_ports(ports, node):
                yield from _elements(version, found)

    def _of_ports(
            self, ports: Iterable[model.GatewayPort | model.GroupPort],
            node: model.Node
            ) -> Iterator[tuple[int, tuple[ip_text.Network, ...]]]:
        """(family, provider networks) of ports; without ``extent`` none.

        A configured ``network_cidr`` takes the place of those of IPv4.
        """
        texts = [text for port in ports if not port.vni
                 for text in port.networks]
        for version in node.extent.versions if node.extent else ():
            if version == 6 or not self.settings.network_cidr:
                yield version, networks.of_version(version, texts)

    def _networks(self, version: int,
                  found: tuple[ip_text.Network, ...]) -> base.Wanted:
        """The first one switches the guard on."""
        yield from _elements(version, found)
        if found and self.settings.frr.vrf_name:
            yield resources.NftElement(
                family(version), ownership.NFT_GUARDED,
                ownership.VETH_DEFAULT)

    # -- the rules --------------------------------------------------------

    def _forwards(self, forwards: port_forwards.Forwards,
                  node: model.Node) -> base.Wanted:
        """The tables, policy rules and announcements of all VIPs.

        A VIP that a router or machine has, too, is a problem.
        """
        for vip in forwards.vips:
            if vip.taken:
                yield resources.Problem(
                    f'VIP {vip.address} is not forwarded: {vip.taken} '
                    'has this address; take it out of the rules, or out of '
                    'the pools of the provider network',
                    addresses=(vip.address,))
        vips = [vip for vip in forwards.vips if not vip.taken]
        if vips:
            if self.settings.port_forward.port_forward_l3mdev_accept:
                for proto in ('tcp', 'udp'):
                    yield resources.Sysctl(
                        f'net/ipv4/{proto}_l3mdev_accept', '1')
            yield from self._no_redirects(forwards)
            yield from announcing.no_way_out(
                self.settings, node, 'replies of VIPs are dropped unless BGP '
                'knows the client', {vip.version for vip in vips})
        if any(vip.managed and vip.version == 4 for vip in vips):
            # With its last IPv4 address, a device loses all IPv4 routes, even
            # those of others, so this address stays.  FRR does not
            # redistribute a link-local one (zebra_check_addr()).
            yield resources.Address(
                self.settings.port_forward.port_forward_dev, ownership.ANCHOR)
        for version in (4, 6):
            of_family = tuple(v for v in vips if v.version == version)
            if of_family:
                yield from self._family(version, of_family, forwards, node)

    def _family(self, version: int, vips: Iterable[port_forwards.Vip],
                forwards: port_forwards.Forwards,
                node: model.Node) -> base.Wanted:
        own = self.settings.port_forward
        way = [*self._way_back(version)]
        # Without the rules, a marked answer would leave by the main table.
        way.append(dataclasses.replace(wanted(
            version, vips, Manner(
                own.port_forward_ct_zone, own.balance.lower(),
                bool(self.settings.frr.vrf_name),
                plugins.requested(self.settings, plugins.VNIS))),
            requires=tuple(each.ref for each in way
                           if isinstance(each, resources.Rule))))
        yield from way
        requires = tuple(resource.ref for resource in way)
        for vip in vips:
            announced = not vip.dead and (
                forwards.gateway is True or
                own.vip_announce.lower() != 'with-gateway')
            if announced or self._prepared(vip):
                yield from self._filter(vip)
            if announced:
                yield from self._attract(vip, node, requires)

    def _no_redirects(self, forwards: port_forwards.Forwards) -> base.Wanted:
        """Destinations never hear of another way to their clients.

        While the table is gone, or the connection is removed, the kernel sends
        an answer on to the default gateway.  If that is on the link where it
        came from, the kernel tells the destination to take the shorter way,
        and it obeys for five minutes (ip_rt_send_redirect(),
        __ip_do_redirect()).  Of the values of a device and of 'all', one is
        enough to send (ip-sysctl of the kernel).
        """
        if forwards.links:
            for name in ('all', *forwards.links):
                yield resources.Sysctl(
                    f'net/ipv4/conf/{name}/send_redirects', '0')

    # -- out of the VRF, and back -----------------------------------------

    def _way_back(self, version: int) -> base.Wanted:
        if not self.settings.frr.vrf_name:
            return
        if version == 6:
            # For IPv4, veth_leak always has these.
            yield from announcing.veth_addresses(self.settings, version)
            yield announcing.without_vrf(self.settings, version)
        table = self.settings.port_forward.port_forward_table_id
        route = announcing.veth_route(self.settings, version, table)
        yield route
        # The last rule is for a table without its route: an answer would
        # follow the main table into the management network.  Dropped without
        # an ICMP error, which would go to the destination, and could end a new
        # connection there.
        for priority, to, mark in (
                (ownership.PRIORITY_FORWARD, resources.MAIN_TABLE,
                 ownership.MARK_FORWARD),
                (ownership.PRIORITY_REPLY, table, ownership.MARK_REPLY),
                (ownership.PRIORITY_REPLY_GUARD, resources.BLACKHOLE,
                 ownership.MARK_REPLY)):
            yield resources.Rule(priority, to, fwmark=(mark, mark),
                                 ipv6=version == 6 or None,
                                 requires=(route.ref,))

    # -- BGP --------------------------------------------------------------

    def _prepared(self, vip: port_forwards.Vip) -> bool:
        """Whether the prefix list permits a VIP that is not announced.

        bgpd applies a new line to the routes that it has only after its
        route-map delay-timer, 5 s by default, for which a VIP that comes back
        would be dark.  Without the address on the device, the line permits
        nothing; the device of an unmanaged VIP has it all the time.
        """
        return bool(vip.managed and self.settings.fip_route.standby_prepare)

    def _filter(self, vip: port_forwards.Vip) -> base.Wanted:
        """A VIP is in no provider network (trap T37)."""
        name = self.settings.frr.frr_prefix_list
        if name and not mode.forwards_only(self.settings):
            length = {4: 32, 6: 128}[vip.version]
            yield resources.PrefixListEntry(
                name, networks.host_prefix(vip.address), length, length)

    def _attract(self, vip: port_forwards.Vip, node: model.Node,
                 requires: base.Refs) -> base.Wanted:
        """The announcement of a VIP, by the connected route if possible.

        A static route for an address of the VRF would never be used (trap
        T36).
        """
        prefix = networks.host_prefix(vip.address)
        if vip.managed:
            yield resources.VipAddress(
                self.settings.port_forward.port_forward_dev, prefix,
                requires=requires)
        elif vip.present or mode.forwards_only(self.settings):
            # In the second case, the operator announces the VIP.
            return
        elif vip.version == 4:
            yield from self._static(prefix, node, requires)
        else:
            yield resources.Problem(
                f'VIP {vip.address} is not announced: no device has it; set '
                'manage_vip: true, or put it on one',
                addresses=(vip.address,))

    def _static(self, prefix: str, node: model.Node,
                requires: base.Refs) -> base.Wanted:
        if self.settings.frr.vrf_name:
            # Packets that no rule translates come out of the pair, and no
            # device has the address: the default route of the main table would
            # send them into the management network.
            yield resources.Rule(
                self.settings.veth_leak.veth_leak_rule_priority - 2,
                resources.BLACKHOLE, dst=prefix, iif=ownership.VETH_DEFAULT)
        announcement = announcing.announcement(
            self.settings, node, prefix,
            self.settings.port_forward.port_forward_dev, requires)
        if announcement is not None:
            yield announcement


def _elements(version: int, found: Iterable[ip_text.Network]
              ) -> Iterator[resources.NftElement]:
    for network in found:
        yield resources.NftElement(family(version),
                                   ownership.NFT_NETWORKS, str(network))
