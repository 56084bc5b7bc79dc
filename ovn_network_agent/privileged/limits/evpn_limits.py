# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The limits for the driver evpn: any address, as tenants choose, but only
VNIs' devices and tables, and routes in the table of their devices' VNI.
"""

from collections.abc import Iterable
import dataclasses
import typing

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.conf.options import bridges
from ovn_network_agent.model import evpn_names
from ovn_network_agent.privileged.limits import prefix_limits
from ovn_network_agent.privileged.network import checks

_LINK_LOCAL = (f'{ownership.SEGMENT_LINK_LOCAL}/64', 'fe80::1/64')


@dataclasses.dataclass(frozen=True, slots=True)
class EvpnLimits:
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
            return not via and _is_host(dst)
        return vni > 0 and self.is_port(dev) and _is_network(dst) and (
            not via or prefix_limits.unicast(ip_text.network(via)))

    def check_address(self, text: str) -> None:
        """Check an address of a veth end."""
        checks.permit(text in _LINK_LOCAL or _is_host(text), text,
                      'an address of a gateway')

    def check_host(self, prefix: str) -> None:
        """Check the prefix of an address of a host."""
        checks.permit(_is_host(prefix), prefix, 'an address of a host')

    def check_advertised(self, prefixes: Iterable[str]) -> None:
        """Check prefixes of router advertisements."""
        for prefix in prefixes:
            checks.permit(_is_network(prefix) and ':' in prefix,
                          f'advertised prefix {prefix}', 'an IPv6 network')


def from_conf(conf: cfg.ConfigOpts, loaded: bool) -> EvpnLimits:
    """The limits of a configuration, whose driver may be loaded."""
    own = conf.evpn
    return EvpnLimits(
        loaded, own.table_base,
        (own.local_ip, own.udp_dstport, own.underlay_mtu -
         evpn_names.OVERHEAD), own.local_device,
        ('', conf.frr.vrf_name), bridges.served(conf))


def _is_host(prefix: str) -> bool:
    network = ip_text.network(prefix, strict=False)
    return network.prefixlen == network.max_prefixlen and (
        prefix_limits.unicast(network))


def _is_network(prefix: str) -> bool:
    network = ip_text.network(prefix)
    return (network.prefixlen >= ip_text.SHORTEST[network.version] and
            prefix_limits.unicast(network))
