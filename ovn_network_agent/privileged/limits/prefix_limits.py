# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The prefixes that routes and policy rules of the agent may have.

Routes for two halves of the address space would be a default route.  So each
kind is for an address or a provider network, of the configuration or of OVN,
then with a length of at least :data:`ip_text.SHORTEST`.
"""

from collections.abc import Container
from collections.abc import Iterator
import typing

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.conf.options import fip_route
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink import route_codec

if typing.TYPE_CHECKING:
    # not loaded: a daemon of FRR has no use for them
    from ovn_network_agent.netlink.objects import rules

# in place of each incoming device of a VNI
ANY_VNI = evpn_names.vrf(evpn_names.VNIS[0])
_BLACKHOLE = 0
# priority, table, iif, fwmark
Frame = tuple[int, int, str | None, tuple[int, int] | None]
_FORWARD = 'port_forward'
_LEAK = 'veth_leak'
_TENANTS = 'tenant_network'


class AllowedPrefixes(typing.NamedTuple):
    """The limits of prefixes that the configuration sets."""

    # provider networks; empty if they are discovered in OVN
    networks: frozenset[ip_text.Network]
    leaks: bool  # whether the agent makes routes for provider networks
    forwards: bool  # whether addresses of VIPs are announced
    tenants: bool = False  # whether networks of tenants are announced

    def address(self, prefix: str) -> bool:
        """Whether a prefix is one address of a host."""
        found = ip_text.network(prefix)
        return found.prefixlen == found.max_prefixlen and unicast(found)

    def host(self, prefix: str) -> bool:
        """Whether a prefix may be an address of a router."""
        return self.address(prefix) and (not self.networks or any(
            ip_text.network(prefix).network_address in n
            for n in self.networks))

    def network(self, prefix: str) -> bool:
        """Whether a prefix may be a provider network."""
        found = ip_text.network(prefix)
        return found in self.networks if self.networks else (
            self.narrow(prefix) and unicast(found))

    def part(self, prefix: str) -> bool:
        """Whether a prefix may be a provider network, or a part of one."""
        found = ip_text.network(prefix)
        return any(found.prefixlen >= n.prefixlen and
                   found.network_address in n for n in self.networks
                   ) if self.networks else self.network(prefix)

    def may_lead_to(self, prefix: str) -> bool:
        """Whether a route from the VRF may lead to a prefix."""
        return (self.host(prefix) or self.leaks and self.network(prefix) or
                self.forwards and self.address(prefix) or
                self.routed(prefix))

    def routed(self, prefix: str) -> bool:
        """Whether a prefix may be one of tenants that is announced."""
        return self.tenants and self.narrow(prefix) and unicast(
            ip_text.network(prefix))

    def narrow(self, prefix: str) -> bool:
        """Whether a prefix is not wider than :data:`ip_text.SHORTEST`."""
        found = ip_text.network(prefix)
        return found.prefixlen >= ip_text.SHORTEST[found.version]

    def tenant(self, prefix: str) -> bool:
        """Any of IPv4: its rule matches only packets from the bridge."""
        return ip_text.network(prefix).version == 4


class Shape(typing.NamedTuple):
    """A kind of policy rule."""

    driver: str
    priority: int
    table: int  # 0 for a blackhole
    iif: str | None = None
    mark: int | None = None  # packet mark, which is its own mask
    # Methods of AllowedPrefixes, '' without a prefix.
    src: str = ''
    dst: str = ''
    suppress: int | None = None  # suppress_prefixlength
    both: bool = False  # whether there is such a rule for IPv6, too

    @property
    def fwmark(self) -> tuple[int, int] | None:
        """(mark, mask) or None."""
        return None if self.mark is None else (self.mark, self.mark)

    def fits(self, rule: 'rules.Rule', allowed: AllowedPrefixes) -> bool:
        """Whether a rule is of this kind."""
        return (frame(self) == frame(rule) and
                self.suppress == rule.suppress and
                (not rule.ipv6 or self.both or self.mark is not None) and
                _within(allowed, self.src, rule.src) and
                _within(allowed, self.dst, rule.dst))


def frame(rule: 'Shape | rules.Rule') -> Frame:
    """The part of a rule that the configuration sets."""
    return rule.priority, rule.table, rule.iif, rule.fwmark


def shapes(conf: cfg.ConfigOpts) -> Iterator[Shape]:
    """The kinds of policy rules of all drivers."""
    own, priority = fip_route.own_table(conf)
    if own:
        for driver in ('fip_route', 'provider_port'):
            yield Shape(driver, priority, own, dst='host')
        yield Shape(_TENANTS, priority, own, dst='routed')
    yield from _of_the_pair(conf)
    table = conf.port_forward.port_forward_table_id
    yield Shape(_FORWARD, ownership.PRIORITY_FORWARD, route_codec.MAIN_TABLE,
                mark=ownership.MARK_FORWARD)
    yield Shape(_FORWARD, ownership.PRIORITY_REPLY, table,
                mark=ownership.MARK_REPLY)
    yield Shape(_FORWARD, ownership.PRIORITY_REPLY_GUARD, _BLACKHOLE,
                mark=ownership.MARK_REPLY)
    yield Shape('evpn', ownership.EVPN_RULE_PRIORITY, _BLACKHOLE, ANY_VNI,
                both=True)


def _of_the_pair(conf: cfg.ConfigOpts) -> Iterator[Shape]:
    first = conf.veth_leak.veth_leak_rule_priority
    arriving = ownership.VETH_DEFAULT
    for dst in ('network', 'address'):
        yield Shape(_LEAK if dst == 'network' else _FORWARD, first - 2,
                    _BLACKHOLE, arriving, dst=dst)
    yield Shape(_LEAK, first - 3, route_codec.MAIN_TABLE, arriving,
                dst='network', suppress=0)
    yield Shape(_LEAK, first - 1, route_codec.MAIN_TABLE, arriving, both=True)
    for driver in (_LEAK, _FORWARD):
        yield Shape(driver, first - 1, _BLACKHOLE, ownership.VETH_PROVIDER,
                    both=True)
    yield Shape(_LEAK, first, conf.veth_leak.veth_leak_table_id,
                src='network')
    yield from _of_tenants(conf, first)
    yield Shape(_LEAK, first + 1, _BLACKHOLE, conf.bridge_dev, src='tenant')
    yield Shape(_LEAK, first + 1, _BLACKHOLE, conf.bridge_dev, dst='network')
    yield Shape(_LEAK, first + 1, _BLACKHOLE, conf.bridge_dev, both=True)


def _of_tenants(conf: cfg.ConfigOpts, first: int) -> Iterator[Shape]:
    """Those of the leak for networks that are announced."""
    arriving = ownership.VETH_DEFAULT
    yield Shape(_TENANTS, first, conf.veth_leak.veth_leak_table_id,
                conf.bridge_dev, src='routed')
    yield Shape(_TENANTS, first - 2, _BLACKHOLE, arriving, dst='routed')
    yield Shape(_TENANTS, first - 3, route_codec.MAIN_TABLE, arriving,
                dst='routed', suppress=0)


def from_conf(conf: cfg.ConfigOpts, loaded: Container[str]) -> AllowedPrefixes:
    """The limits of prefixes with some drivers."""
    return AllowedPrefixes(frozenset(map(ip_text.network, conf.network_cidr)),
                           _LEAK in loaded, _FORWARD in loaded,
                           _TENANTS in loaded)


def _within(allowed: AllowedPrefixes, kind: str, prefix: str | None) -> bool:
    if not kind or prefix is None:
        return not kind and prefix is None
    return bool(getattr(allowed, kind)(prefix))


def unicast(network: ip_text.Network) -> bool:
    """Whether a network is one of hosts beyond a link."""
    return not (network.is_loopback or network.is_multicast or
                network.version == 6 and network.is_link_local)
