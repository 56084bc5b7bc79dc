# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the limits of the privileged side permit.  Pure.  What has the agent's
mark may be removed anywhere: an earlier configuration may have made it.
"""

from collections.abc import Container
from collections.abc import Iterable
import typing

from ovn_network_agent import ownership
from ovn_network_agent.common import bridges
from ovn_network_agent.common import ip_text
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.privileged.limits import driver_limits
from ovn_network_agent.privileged.limits import prefix_limits as reaches
from ovn_network_agent.privileged.network import checks

if typing.TYPE_CHECKING:
    # not loaded: a daemon of FRR has no use for them
    from ovn_network_agent.netlink.objects import rules as policy_rules

_ONLINK = ' onlink'
_ENDS = ownership.VETH_ENDS
# of port_forward_l3mdev_accept
_L3MDEV = ('net/ipv4/tcp_l3mdev_accept', 'net/ipv4/udp_l3mdev_accept')
_permit = checks.permit


class Limits(typing.NamedTuple):
    """The values of the configuration that limit changes."""

    bridges: tuple[str, ...]  # provider bridges, and so their devices
    bridge_ip: str  # of the devices of segments, '' for none
    vrf: str  # FRR's, '' for the default VRF
    prefix_list: str  # of FRR at the start, '' for none
    frr_vnis: bool  # whether VNIs are written into FRR
    vip_device: str
    others: frozenset[str]  # devices that external drivers change
    pair: tuple[str, str]  # addresses of veth-default and of veth-provider
    host_tables: frozenset[int]  # of the host routes to the bridge
    # (table, prefix, gateway) of the default routes through the veth pair.
    gateways: frozenset[tuple[int, str, str]]
    allowed: reaches.AllowedPrefixes  # allowed prefixes of routes
    rules: frozenset[reaches.Shape]
    # of all drivers, loaded or not
    frames: frozenset[reaches.Frame]
    forwards: bool  # whether ports are forwarded
    leak: tuple[int, int]  # priority and table of the rules of the veth leak
    zone: int  # connection tracking zone of forwarded connections
    l3mdev: bool  # whether the two sysctls of sockets in VRFs are set
    evpn: driver_limits.EvpnLimits
    egress: driver_limits.EgressLimits

    def check_bridge(self, name: str) -> None:
        """Check a bridge whose flows are read and written."""
        _permit(name in self.bridges, f'bridge {name!r}',
                self._named_bridges())

    def check_vrf(self, name: str) -> None:
        """Check a VRF of a question to FRR, or of the veth pair."""
        _permit(name == self.vrf, f'VRF {name!r}',
                f'[frr] vrf_name = {self.vrf}')

    def check_frr_vnis(self) -> None:
        """Check that the agent writes VNIs into FRR."""
        _permit(self.frr_vnis, 'a VNI of FRR', 'asked for by [DEFAULT] '
                'drivers and [evpn] manage_frr')

    def check_static(self, prefix: str, hop: str, added: bool = True) -> None:
        """Check the prefix and the next hop of a static route of FRR."""
        if not _is_host(prefix) or hop.endswith(_ONLINK):
            _permit(self.allowed.routed(prefix) if added else
                    self.allowed.narrow(prefix), f'static route {prefix!r}',
                    'the route of one host')
        if not self.vrf and hop.endswith(_ONLINK):
            via, _blank, hop = hop.removesuffix(_ONLINK).partition(' ')
            _permit(self.allowed.host(_host(via)), f'next hop {via!r}',
                    'a gateway port')
        self.check_next_hop(hop)

    def check_next_hop(self, hop: str) -> None:
        """Check the next hop of a static route of one host."""
        hops = ((self.pair[0], ownership.NEXT_HOP_6) if self.vrf else
                (*self.bridges, *self._vips()))
        _permit(hop in hops or not self.vrf and self._is_segment(hop),
                f'next hop {hop!r}',
                'a next hop of this agent: ' + ', '.join(hops))

    def check_advertisement(self, dev: str, prefixes: Iterable[str]) -> None:
        """Check a device on which FRR advertises this node, and prefixes."""
        if self.evpn.is_port(dev):
            return self.evpn.check_advertised(prefixes)
        if not self._is_segment(dev):
            self._check_device(dev)
        for prefix in prefixes:
            _permit(self.allowed.part(prefix), f'advertised prefix {prefix}',
                    'a part of a provider network')

    def check_forwards(self) -> None:
        """Check that the agent forwards ports."""
        _permit(self.forwards, 'what forwards ports', 'asked for by [DEFAULT] '
                'drivers and [port_forward] rules_file')

    def check_zone(self, number: int) -> None:
        """Check a zone of connection tracking."""
        _permit(number == self.zone, f'zone {number!r}',
                f'[port_forward] port_forward_ct_zone = {self.zone}')

    def check_table(self, zone: int, vrf: bool) -> None:
        """Refuse a table of forwarded ports for another zone or VRF."""
        self.check_zone(zone)
        _permit(vrf == bool(self.vrf),
                f'a table {"with" if vrf else "without"} a VRF',
                f'one for [frr] vrf_name = {self.vrf}')

    def check_up(self, dev: str) -> None:
        """Check a device that is brought up."""
        self._check_device(dev, self.bridges)

    def check_vlan(self, name: str, bridge: str, tag: int) -> None:
        """Check the device of a VLAN that is made."""
        _permit(bridge in self.bridges and self._is_segment(name) and
                name == bridges.segment_device(bridge, tag) != bridge,
                f'VLAN device {name!r}', 'the device of a VLAN on '
                + self._named_bridges())

    def check_neighbour(self, dev: str) -> None:
        """Check a device of a permanent neighbour."""
        if not (self._is_segment(dev) or self.evpn.is_port(dev)):
            self._check_device(dev, _ENDS)

    def check_proxy(self, dev: str, dst: str) -> None:
        """Check a neighbour, an IPv6 address, that the kernel answers for."""
        if self.evpn.is_port(dev):
            return self.evpn.check_host(f'{dst}/128')
        if not self._is_segment(dev):
            self._check_device(dev)
        _permit(self.allowed.host(f'{dst}/128'), f'neighbour proxy {dst}',
                'an address of a provider network')

    def check_address(self, dev: str, text: str) -> None:
        """Check an address that is set, or removed without a mark."""
        if dev in self.others:
            return
        if self.evpn.is_port(dev):
            self.evpn.check_address(text)
        elif self._is_segment(dev):
            _permit(text in (f'{self.bridge_ip}/32',
                             f'{ownership.SEGMENT_LINK_LOCAL}/64'),
                    f'{text} on {dev}',
                    f'[DEFAULT] bridge_ip = {self.bridge_ip}')
        elif dev in _ENDS:
            end = _ENDS.index(dev)
            _permit(text in (f'{self.pair[end]}/30',
                             f'{ownership.VETH_LINK_LOCAL[end]}/64'),
                    f'{text} on {dev}', 'an address of the veth pair')
        elif dev in self._vips():
            _permit(_is_host(text) and not ip_text.interface(text).is_loopback,
                    f'{text} on {dev}', 'an address of a VIP')
        elif self.is_egress_link(dev):
            _permit(self.egress.is_address(text), f'{text} on {dev}',
                    'an egress address')
        else:
            self._check_device(dev)

    def check_renewal(self, dev: str, text: str) -> None:
        """Check an address that is removed and set again."""
        if dev not in self.others:
            _permit(dev == ownership.VETH_PROVIDER,
                    f'to renew an address of {dev!r}',
                    f'the device {ownership.VETH_PROVIDER}')
            self.check_address(dev, text)

    def check_route(self, table: int, dst: str, dev: str, via: str,
                    vrf_table: int) -> None:
        """Check a route that is set; ``vrf_table`` is 0 without a VRF."""
        allowed = self.allowed
        if dev in self.others:
            fits = table not in self._tables(vrf_table) or allowed.narrow(dst)
        elif dev == ownership.VETH_DEFAULT:
            fits = (table, dst, via) in self.gateways
        elif dev == ownership.VETH_PROVIDER:
            own = (ownership.VETH_LINK_LOCAL if ':' in dst else self.pair)[0]
            fits = (table == vrf_table and via == own and
                    allowed.may_lead_to(dst))
        elif via:
            fits = (self._is_segment(dev) and table in self.host_tables and
                    allowed.routed(dst) and allowed.host(_host(via)))
        else:
            fits = (
                self._is_segment(dev) and table in self.host_tables and
                allowed.host(dst) or
                dev in self._vips() and table == route_codec.MAIN_TABLE and
                allowed.address(dst))
        fits = (fits or self.evpn.is_route(table, dst, dev, via) or
                self.egress.is_route(table, dst, dev, via, self._is_segment))
        _permit(fits, f'route {dst} through {dev} in table {table}',
                'a route of this agent')

    def check_tagged(self, dst: str) -> None:
        """Check the destination of a route with a tag."""
        _permit(self.allowed.host(dst) or self.allowed.routed(dst),
                f'a tag of route {dst}', 'the route of one host')

    def check_rule(self, rule: 'policy_rules.Rule') -> None:
        """Check a policy rule that is set."""
        _permit(rule.iif in self.others or self.egress.is_rule(
            rule, self._is_segment) or any(
                shape.fits(self._as_of_bridge(rule), self.allowed)
                for shape in self.rules),
                f'rule {rule.priority} to table {rule.table}',
                'a rule of this agent')

    def check_removal(self, rule: 'policy_rules.Rule') -> None:
        """Without a mark; another configuration's networks do not count."""
        _permit(rule.iif in self.others or
                reaches.frame(self._as_of_bridge(rule)) in self.frames,
                f'rule {rule.priority} to table {rule.table}',
                'a rule of this agent')

    def check_sysctl(self, path: str) -> None:
        """Check a path of :func:`checks.sysctl`."""
        if path in _L3MDEV:
            _permit(self.l3mdev and self.forwards, path, '[port_forward] '
                    'port_forward_l3mdev_accept')
        elif path.endswith('/send_redirects'):
            # Destinations may be behind any device, and change by a reload.
            self.check_forwards()
        else:
            dev = path.split('/')[3]
            if not (self._is_segment(dev) or self.evpn.is_device(dev) or
                    self.egress.is_sysctl(path, self._is_segment)):
                self._check_device(dev, _ENDS)

    def is_onlink(self, table: int, dev: str) -> bool:
        """Whether a gateway needs no route to itself: only the agent makes
        routes through a provider device, and in the tables of links.
        """
        return dev not in self.others and (
            self._is_segment(dev) or self.evpn.is_port(dev) or
            table in ownership.EGRESS_TABLES)

    def is_egress_link(self, dev: str) -> bool:
        """Whether a device may have egress addresses, by its name."""
        return self.egress.is_link(dev, self._is_segment)

    def _is_segment(self, dev: object) -> bool:
        return isinstance(dev, str) and bridges.is_segment_device(
            dev, self.bridges)

    def _as_of_bridge(self, rule: 'policy_rules.Rule') -> 'policy_rules.Rule':
        """A rule as for the default bridge: rules for packets out of OVN are
        alike for all segments, and so are those of all devices of VNIs.
        """
        if self.evpn.is_device(rule.iif):
            return rule._replace(iif=reaches.ANY_VNI)
        return rule._replace(iif=self.bridges[0]) if self._is_segment(
            rule.iif) else rule

    def _named_bridges(self) -> str:
        first, *further = self.bridges
        return f'[DEFAULT] bridge_dev = {first}' + (
            f', further_bridges = {",".join(further)}' if further else '')

    def _vips(self) -> tuple[str, ...]:
        return (self.vip_device,) if self.forwards else ()

    def _tables(self, vrf_table: int) -> set[int]:
        """Tables of the agent, which external drivers may not use."""
        return {route_codec.MAIN_TABLE, vrf_table, *self.host_tables,
                *(table for table, _dst, _via in self.gateways)}

    def _check_device(self, dev: str, ours: Container[str] = ()) -> None:
        _permit(dev in ours or dev in self.others, f'device {dev!r}',
                'a device that the configuration names for this; a driver '
                'of somebody else needs it in [DEFAULT] driver_devices')


def _host(address: str) -> str:
    ip = ip_text.address(address)
    return f'{ip}/{ip.max_prefixlen:d}'


def _is_host(prefix: str) -> bool:
    address, _slash, length = prefix.partition('/')
    return length == ('128' if ':' in address else '32')
