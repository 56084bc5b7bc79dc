# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The limits for the driver egress_ip: any address and link, which tenants and
the operator choose, but only rules, tables and prefixes of egress addresses.
A rule lets out one machine, out of OVN; a table has the routes of one link.
"""

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
import typing

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.privileged.limits import prefix_limits
from ovn_network_agent.privileged.network import checks

if typing.TYPE_CHECKING:
    # not loaded: a daemon of FRR has no use for them
    from ovn_network_agent.netlink.objects import addresses
    from ovn_network_agent.netlink.objects import rules

_BLACKHOLE = 0
# the rules of answers: priority and table
_ANSWERS = ((ownership.EGRESS_BACK, ownership.EGRESS_BACK_TABLE),
            (ownership.EGRESS_DROP, _BLACKHOLE))
_IsSegment = Callable[[object], bool]
_SYSCTLS = ('net/ipv4/conf/{}/forwarding', 'net/ipv6/conf/{}/ndisc_notify')


@dataclasses.dataclass(frozen=True, slots=True)
class EgressLimits:
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
        return _is_host(text)

    def is_rule(self, rule: 'rules.Rule', is_segment: _IsSegment) -> bool:
        """Whether a policy rule is one of egress addresses."""
        if not self.loaded or rule.suppress is not None:
            return False
        if rule.fwmark:
            return (rule.src is rule.dst is rule.iif is None and
                    rule.fwmark == (ownership.MARK_EGRESS,) * 2 and
                    (rule.priority, rule.table) in _ANSWERS)
        if rule.dst is not None:
            return (rule.src is None and _is_host(rule.dst) and
                    (rule.priority, rule.table) == _ANSWERS[0] and
                    self.is_link(rule.iif, is_segment))
        if rule.ipv6 or not rule.iif or not is_segment(rule.iif):
            return False
        if rule.priority == ownership.EGRESS_OUT:
            return (_is_host(rule.src) and
                    rule.table in ownership.EGRESS_TABLES)
        return (rule.priority == ownership.EGRESS_DROP and
                rule.src is not None and rule.table == _BLACKHOLE)

    def is_route(self, table: int, dst: str, dev: str, via: str,
                 is_segment: _IsSegment) -> bool:
        """Whether a route is a copy of a link's, or leads to a machine."""
        if not self.loaded:
            return False
        if table == ownership.EGRESS_BACK_TABLE:
            return bool(via) and _is_host(dst) and is_segment(dev)
        return (table in ownership.EGRESS_TABLES and
                self.is_link(dev, is_segment) and
                table == ownership.EGRESS_TABLES[checks.index(dev)])

    def is_sysctl(self, path: str, is_segment: _IsSegment) -> bool:
        """Whether a path is a setting of a link."""
        dev = path.split('/')[3]
        return self.is_link(dev, is_segment) and path in {
            each.format(dev) for each in _SYSCTLS}


def check_inside(present: 'Iterable[addresses.Address]', address: str) -> None:
    """Check that an address is in a network of its link, which has others."""
    own = ip_text.interface(address).ip
    checks.permit(
        any(each.protocol != ownership.ADDRESS_PROTOCOL and
            own in ip_text.interface(each.address).network
            for each in present),
        address, 'in a network of its device')


def from_conf(conf: cfg.ConfigOpts, loaded: bool, others: Iterable[str]
              ) -> EgressLimits:
    """The limits of a configuration, whose driver may be loaded."""
    return EgressLimits(loaded, frozenset((
        *others, *ownership.VETH_ENDS,
        conf.port_forward.port_forward_dev, 'lo',
        # no devices, but words for all of them in paths of sysctls
        'all', 'default')))


def _is_host(prefix: str | None) -> bool:
    if prefix is None:
        return False
    network = ip_text.network(prefix, strict=False)
    return network.prefixlen == network.max_prefixlen and (
        prefix_limits.unicast(network) and
        not network.network_address.is_unspecified)
