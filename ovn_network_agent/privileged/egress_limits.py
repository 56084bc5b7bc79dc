# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The limits of the privileged side for the driver egress_ip.

Tenants choose the addresses of their machines, and a link may be any device of
the operator.  So any is allowed, but the rules, tables and prefixes are those
of egress addresses alone: what one rule lets out is one machine, and comes out
of OVN; and a table has the routes of one link.
"""

import dataclasses

from ovn_network_agent import iptext
from ovn_network_agent import ownership
from ovn_network_agent.privileged import checks
from ovn_network_agent.privileged import reach

_BLACKHOLE = 0
# The rules of answers: priority and table.
_ANSWERS = ((ownership.EGRESS_BACK, ownership.EGRESS_BACK_TABLE),
            (ownership.EGRESS_DROP, _BLACKHOLE))
_SYSCTLS = ('net/ipv4/conf/{}/forwarding', 'net/ipv6/conf/{}/ndisc_notify')


@dataclasses.dataclass(frozen=True, slots=True)
class EgressLimits:
    """The values of the configuration.

    :ivar loaded: whether the driver is; without it, nothing is allowed
    :ivar others: names of devices of the agent, which are no links
    """

    loaded: bool
    others: frozenset

    def check_loaded(self):
        """Check that machines may leave by links of this node."""
        checks.permit(self.loaded, 'what translates to egress addresses',
                      'asked for by [DEFAULT] drivers')

    def is_link(self, dev, is_segment):
        """Whether a device may be a link, by its name."""
        return self.loaded and isinstance(dev, str) and (
            dev not in self.others and not is_segment(dev))

    def is_address(self, text):
        """Whether an 'address/length' may be an egress address."""
        return _is_host(text)

    def is_rule(self, rule, is_segment):
        """Whether a policy rule is one of egress addresses.

        :param rule: :class:`netlink.rules.Rule`
        """
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

    def is_route(self, table, dst, dev, via, is_segment):
        """Whether a route is a copy of one of a link, or leads to a machine.

        :param via: gateway, '' for a route of scope link
        """
        if not self.loaded:
            return False
        if table == ownership.EGRESS_BACK_TABLE:
            return bool(via) and _is_host(dst) and is_segment(dev)
        return (table in ownership.EGRESS_TABLES and
                self.is_link(dev, is_segment) and
                table == ownership.EGRESS_TABLES[checks.index(dev)])

    def is_sysctl(self, path, is_segment):
        """Whether a path is a setting of a link."""
        dev = path.split('/')[3]
        return self.is_link(dev, is_segment) and path in {
            each.format(dev) for each in _SYSCTLS}


def check_inside(present, address):
    """Check that a link has a network with an egress address.

    :param present: the :class:`netlink.addresses.Address` of the link
    :param address: 'address/length'
    :raises OSError: EPERM
    """
    own = iptext.interface(address).ip
    checks.permit(
        any(each.protocol != ownership.ADDRESS_PROTOCOL and
            own in iptext.interface(each.address).network
            for each in present),
        address, 'in a network of its device')


def from_conf(conf, loaded, others):
    """The limits of a configuration.

    :param conf: the oslo.config ConfigOpts
    :param loaded: whether the driver may want resources
    :param others: names of devices of the agent
    :returns: :class:`EgressLimits`
    """
    return EgressLimits(loaded, frozenset((
        *others, *ownership.VETH_ENDS,
        conf.port_forward.port_forward_dev, 'lo',
        # No devices, but words for all of them in paths of sysctls.
        'all', 'default')))


def _is_host(prefix):
    if prefix is None:
        return False
    network = iptext.network(prefix, strict=False)
    return network.prefixlen == network.max_prefixlen and (
        reach.unicast(network) and not network.network_address.is_unspecified)
