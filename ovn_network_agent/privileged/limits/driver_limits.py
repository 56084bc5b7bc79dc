# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The limits for the drivers egress_ip and evpn.

egress_ip: any address and link, which tenants and the operator choose, but
only rules, tables and prefixes of egress addresses.  A rule lets out one
machine, out of OVN; a table has the routes of one link.  evpn: any address, as
tenants choose, but only VNIs' devices and tables, and routes in the table of
their devices' VNI.
"""

from collections.abc import Callable
from collections.abc import Iterable
import typing

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent.common import bridges
from ovn_network_agent.common import ip_text
from ovn_network_agent.model import evpn_names
from ovn_network_agent.privileged.limits import prefix_limits
from ovn_network_agent.privileged.network import checks

if typing.TYPE_CHECKING:
    from ovn_network_agent.netlink.objects import addresses
    from ovn_network_agent.netlink.objects import rules

_BLACKHOLE = 0
# the rules of answers: priority and table
_ANSWERS = ((ownership.EGRESS_BACK, ownership.EGRESS_BACK_TABLE),
            (ownership.EGRESS_DROP, _BLACKHOLE))
_IsSegment = Callable[[object], bool]
_SYSCTLS = ('net/ipv4/conf/{}/forwarding', 'net/ipv6/conf/{}/ndisc_notify')


class EgressLimits(typing.NamedTuple):
    """The values of the configuration."""

    loaded: bool  # without the driver, nothing is allowed
    others: frozenset[str]  # devices of the agent, which are no links

    def check_loaded(self) -> None:
        """Check that machines may leave by links of this node."""
        checks.permit(self.loaded, 'what translates to egress addresses',
                      'asked for by [DEFAULT] drivers')

    def is_link(self, dev: object, is_segment: _IsSegment) -> bool:
        """Whether a device may be a link, by its name."""
        return self.loaded and isinstance(dev, str) and (
            dev not in self.others and not is_segment(dev))

    def is_address(self, text: str) -> bool:
        """Whether an 'address/length' may be an egress address."""
        return _is_egress_host(text)

    def is_rule(self, rule: 'rules.Rule', is_segment: _IsSegment) -> bool:
        """Whether a policy rule is one of egress addresses."""
        if not self.loaded or rule.suppress is not None:
            return False
        if rule.fwmark:
            return (rule.src is rule.dst is rule.iif is None and
                    rule.fwmark == (ownership.MARK_EGRESS,) * 2 and
                    (rule.priority, rule.table) in _ANSWERS)
        if rule.dst is not None:
            return (rule.src is None and _is_egress_host(rule.dst) and
                    (rule.priority, rule.table) == _ANSWERS[0] and
                    self.is_link(rule.iif, is_segment))
        if rule.ipv6 or not rule.iif or not is_segment(rule.iif):
            return False
        if rule.priority == ownership.EGRESS_OUT:
            return (_is_egress_host(rule.src) and
                    rule.table in ownership.EGRESS_TABLES)
        return (rule.priority == ownership.EGRESS_DROP and
                rule.src is not None and rule.table == _BLACKHOLE)

    def is_route(self, table: int, dst: str, dev: str, via: str,
                 is_segment: _IsSegment) -> bool:
        """Whether a route is a copy of a link's, or leads to a machine."""
        if not self.loaded:
            return False
        if table == ownership.EGRESS_BACK_TABLE:
            return bool(via) and _is_egress_host(dst) and is_segment(dev)
        return (table in ownership.EGRESS_TABLES and
                self.is_link(dev, is_segment) and
                table == ownership.EGRESS_TABLES[checks.index(dev)])

    def is_sysctl(self, path: str, is_segment: _IsSegment) -> bool:
        """Whether a path is a setting of a link."""
        dev = path.split('/')[3]
        return self.is_link(dev, is_segment) and path in {
            each.format(dev) for each in _SYSCTLS}


def check_in_network(present: 'Iterable[addresses.Address]', address: str
                     ) -> None:
    """Check that an address is in a network of its link, which has others."""
    own = ip_text.interface(address).ip
    checks.permit(
        any(each.protocol != ownership.ADDRESS_PROTOCOL and
            own in ip_text.interface(each.address).network
            for each in present),
        address, 'in a network of its device')


def egress_from_conf(conf: cfg.ConfigOpts, loaded: bool, others: Iterable[str]
                     ) -> EgressLimits:
    """The limits of a configuration, whose driver may be loaded."""
    return EgressLimits(loaded, frozenset((
        *others, *ownership.VETH_ENDS,
        conf.port_forward.port_forward_dev, 'lo',
        # no devices, but words for all of them in paths of sysctls
        'all', 'default')))


def _is_egress_host(prefix: str | None) -> bool:
    if prefix is None:
        return False
    network = ip_text.network(prefix, strict=False)
    return network.prefixlen == network.max_prefixlen and (
        prefix_limits.unicast(network) and
        not network.network_address.is_unspecified)


_LINK_LOCAL = (f'{ownership.SEGMENT_LINK_LOCAL}/64', 'fe80::1/64')


class EvpnLimits(typing.NamedTuple):
    """The values of the configuration."""

    loaded: bool  # without the driver, nothing is allowed
    base: int  # the option table_base
    # source address, UDP port, MTU of each VXLAN device; '' with a device
    tunnel: tuple[str, int, int]
    device: str  # the option local_device
    underlays: tuple[str, ...]  # VRFs of the tunnels, '' for the default VRF
    bridges: tuple[str, ...]

    def is_port(self, dev: object) -> bool:
        """Whether a device is a veth end in the VRF of a VNI, by its name."""
        return self.loaded and isinstance(dev, str) and (
            evpn_names.is_vrf_end(dev))

    def is_device(self, dev: object) -> typing.TypeGuard[str]:
        """Whether a device is one of a VNI, by its name."""
        return self.loaded and isinstance(dev, str) and (
            evpn_names.is_device(dev))

    def vni(self, table: int) -> int:
        """The VNI that has a routing table, 0 for another table."""
        return (evpn_names.vni_of_table(self.base, table) if self.loaded
                else 0)

    def check_devices(self, vni: object, table: object, local: str,
                      port: object, mtu: object, underlay: str,
                      source: str = '') -> None:
        """Check the devices of a VNI that are made."""
        number = checks.integer(vni, 'VNI')
        for value, what in ((table, 'table'), (port, 'port'), (mtu, 'MTU')):
            checks.integer(value, what)
        checks.permit(
            self.loaded and number in evpn_names.VNIS and
            table == evpn_names.table(self.base, number),
            f'table {table} of VNI {vni}', f'[evpn] table_base = {self.base} '
            'plus the VNI')
        checks.permit(
            local in (self.tunnel[0], source) and local != '' and
            (port, mtu) == self.tunnel[1:],
            f'a tunnel of {local!r}, UDP port {port}, with MTU {mtu}',
            'that of [evpn] local_ip or local_device, udp_dstport and '
            'underlay_mtu')
        checks.permit(underlay in self.underlays, f'VRF {underlay!r}',
                      '[frr] vrf_name')

    def check_port(self, name: str, vni: object, bridge: str) -> None:
        """Check a veth pair that is made."""
        checks.permit(
            self.is_port(name) and bridge in self.bridges and
            checks.integer(vni, 'VNI') in evpn_names.VNIS,
            f'veth pair {name!r} of VNI {vni!r} to bridge {bridge!r}',
            'a pair to a provider bridge')

    def is_route(self, table: int, dst: str, dev: str, via: str) -> bool:
        """Whether a route is one of a VNI."""
        vni = self.vni(table)
        if vni and dev == evpn_names.vrf(vni):
            return not via and _is_evpn_host(dst)
        return vni > 0 and self.is_port(dev) and _is_network(dst) and (
            not via or prefix_limits.unicast(ip_text.network(via)))

    def check_address(self, text: str) -> None:
        """Check an address of a veth end."""
        checks.permit(text in _LINK_LOCAL or _is_evpn_host(text), text,
                      'an address of a gateway')

    def check_host(self, prefix: str) -> None:
        """Check the prefix of an address of a host."""
        checks.permit(_is_evpn_host(prefix), prefix, 'an address of a host')

    def check_advertised(self, prefixes: Iterable[str]) -> None:
        """Check prefixes of router advertisements."""
        for prefix in prefixes:
            checks.permit(_is_network(prefix) and ':' in prefix,
                          f'advertised prefix {prefix}', 'an IPv6 network')


def evpn_from_conf(conf: cfg.ConfigOpts, loaded: bool) -> EvpnLimits:
    """The limits of a configuration, whose driver may be loaded."""
    own = conf.evpn
    return EvpnLimits(
        loaded, own.table_base,
        (own.local_ip, own.udp_dstport, own.underlay_mtu -
         evpn_names.OVERHEAD), own.local_device,
        ('', conf.frr.vrf_name), bridges.served(conf))


def _is_evpn_host(prefix: str) -> bool:
    network = ip_text.network(prefix, strict=False)
    return network.prefixlen == network.max_prefixlen and (
        prefix_limits.unicast(network))


def _is_network(prefix: str) -> bool:
    network = ip_text.network(prefix)
    return (network.prefixlen >= ip_text.SHORTEST[network.version] and
            prefix_limits.unicast(network))
