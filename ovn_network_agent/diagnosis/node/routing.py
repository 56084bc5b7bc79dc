# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Checks of routing tables and policy rules."""

import typing

from ovn_network_agent import ownership
from ovn_network_agent.conf import veth_leak
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import families

_DEFAULT = ('0.0.0.0/0', '::/0')
# The kernel's own rule for VRFs, and the protocol of the kernel's rules.
_L3MDEV = 1000
_KERNEL = 2


class Tables(typing.NamedTuple):
    """The routing tables of the agent.

    :ivar tables: tuple of (option, table, tuple of foreign routes), each
        route a :class:`netlink.route_codec.Route`
    :ivar lost: tables that a running agent should have filled, and that have
        no default route of the agent
    """

    tables: tuple
    lost: tuple = ()


def options(conf):
    """The tables that the agent uses with this configuration.

    :param conf: the oslo.config ConfigOpts
    :returns: dict of option to table
    """
    found = {}
    if conf.fip_route.route_table_id:
        found['[fip_route] route_table_id'] = conf.fip_route.route_table_id
    if veth_leak.enabled(conf):
        found['[veth_leak] veth_leak_table_id'] = (
            conf.veth_leak.veth_leak_table_id)
    if conf.port_forward.rules_file and conf.frr.vrf_name:
        found['[port_forward] port_forward_table_id'] = (
            conf.port_forward.port_forward_table_id)
    return found


def read_tables(sources):
    """Read the routing tables of the agent: :class:`Tables`."""
    conf = sources.conf
    read = {table: sources.routes(table)
            for table in options(conf).values()}
    return Tables(tuple(
        (option, table, tuple(
            route for route in read[table]
            if route.protocol != ownership.ROUTE_PROTOCOL))
        for option, table in options(conf).items()),
        tuple(_lost(sources, read)) if sources.holder() else ())


def _lost(sources, read):
    """Tables that lack a default route which the agent makes.

    The table of replies has one for each family of the VIPs, and so a rule
    that looks there.

    :param read: dict of table to its routes
    :returns: iterator of tables
    """
    own = {(table, route.dst) for table, found in read.items()
           for route in found if route.protocol == ownership.ROUTE_PROTOCOL}
    leak = sources.conf.veth_leak.veth_leak_table_id
    if leak in read and not any((leak, dst) in own for dst in _DEFAULT):
        yield leak
    replies = sources.conf.port_forward.port_forward_table_id
    if replies in read and any(
            (replies, _DEFAULT[bool(rule.ipv6)]) not in own
            for rule, exact in sources.rules()
            if exact and rule.table == replies and
            rule.protocol == ownership.RULE_PROTOCOL):
        yield replies


def judge_tables(found):
    """A foreign or a lost default route is broken; other routes are warnings.

    :param found: :class:`Tables`
    """
    fine = True
    for option, table, foreign in found.tables:
        defaults = [route for route in foreign if route.dst in _DEFAULT]
        others = [route for route in foreign if route.dst not in _DEFAULT]
        if defaults:
            fine = False
            yield check.broken(
                f'table {table:d} ({option}) has a default route of another '
                f'program{_through(defaults[0])}',
                f'remove the route, or choose another table in {option}')
        if others:
            fine = False
            yield check.warn(
                f'table {table:d} ({option}) has {len(others):d} routes of '
                f'another program, such as {others[0].dst}',
                f'remove them, or choose another table in {option}')
    for table in found.lost:
        fine = False
        yield check.broken(
            f'table {table:d} has lost its default route, although an agent '
            'runs', 'see what removes it; the agent makes it again')
    if fine:
        yield check.ok(', '.join(
            f'{table:d}' for _option, table, _foreign in found.tables) or
            'the agent uses no table of its own')


def _through(route):
    return f' through {route.dev}' if route.dev else ''


class Rules(typing.NamedTuple):
    """The policy rules.

    :ivar priorities: priorities of the agent's rules, a tuple
    :ivar leak: (priority, table) of the rules of the veth leak
    :ivar rules: tuple of (:class:`netlink.rules.Rule`, whether it is all)
    :ivar vrf: whether a VRF is in use
    """

    priorities: tuple
    leak: tuple
    rules: tuple
    vrf: bool


def priorities(conf):
    """The priorities that the agent uses with this configuration.

    :param conf: the oslo.config ConfigOpts
    :returns: list of int
    """
    found = []
    if conf.port_forward.rules_file and conf.frr.vrf_name:
        found += ownership.FORWARD_PRIORITIES
    if conf.fip_route.route_table_id:
        found.append(conf.fip_route.route_rule_priority)
    if veth_leak.enabled(conf):
        found += ownership.leak_priorities(
            conf.veth_leak.veth_leak_rule_priority)
    return found


def read_rules(sources):
    """Read the policy rules of all programs: :class:`Rules`."""
    leak = sources.conf.veth_leak
    return Rules(tuple(priorities(sources.conf)),
                 (leak.veth_leak_rule_priority, leak.veth_leak_table_id),
                 tuple(sources.rules()),
                 sources.vrf in sources.links())


def judge_rules(found):
    """Warn of each priority of the agent that another program uses.

    :param found: :class:`Rules`
    """
    strange = [rule for rule, exact in found.rules
               if rule.priority in found.priorities and
               not explained(rule, exact, found.leak)]
    for number in sorted({rule.priority for rule in strange}):
        rule = next(r for r in strange if r.priority == number)
        yield check.warn(
            f'priority {number:d} is in use by a rule of another program: '
            f'{_shown(rule)}', 'give that rule, or the agent\'s option, '
            'another priority: of equal priorities the older rule is first')
    if not strange:
        yield check.ok(', '.join(map(str, found.priorities)) or
                       'the agent uses none')


def explained(rule, exact, leak):
    """Whether a rule is the agent's, the kernel's, or the original's.

    :param rule: :class:`netlink.rules.Rule`
    :param exact: whether the rule selects by nothing else
    :param leak: (priority, table) of the rules of the veth leak
    """
    if rule.protocol == ownership.RULE_PROTOCOL and exact:
        return True
    if rule.protocol == _KERNEL:
        return True
    priority, table = leak
    return not rule.protocol and exact and (
        (rule.priority == priority and rule.table == table) or
        (rule.priority == priority - 1 and
         rule.iif == ownership.VETH_DEFAULT) or
        (rule.priority in (ownership.PRIORITY_FORWARD,
                           ownership.PRIORITY_REPLY) and
         rule.fwmark is not None) or
        (rule.dst or '').endswith('/32'))


def _shown(rule):
    words = [f'{word} {value}' for word, value in (
        ('from', rule.src), ('to', rule.dst), ('iif', rule.iif),
        ('lookup', rule.table)) if value]
    return ' '.join(words) or 'it has other selectors'


def judge_l3mdev(found):
    """A VRF without the kernel's rule for VRFs is broken.

    :param found: :class:`Rules`
    """
    if not found.vrf:
        yield check.not_checked('no VRF')
    elif any(not exact and rule.protocol == _KERNEL and
             rule.ipv6 is None and not rule.table
             for rule, exact in found.rules):
        yield check.ok('the rule is there')
    else:
        yield check.broken(
            'the kernel\'s rule for VRFs is missing, so the tables of VRFs '
            'are not used', f'"ip rule add l3mdev pref {_L3MDEV:d} protocol '
            'kernel"')


class Default(typing.NamedTuple):
    """The default route of the VRF.

    :ivar present: whether the VRF has one, a bool; None without a VRF
    :ivar version: 4 or 6, the family of the route
    """

    present: bool | None
    version: int = 4


def read_default(sources, version=4):
    """Ask the kernel for the default route of the VRF.

    :param sources: :class:`sources.Sources`
    :param version: 4 or 6, the family of the route
    :returns: :class:`Default`
    :raises check.NotChecked: when the configured VRF does not exist
    """
    if not sources.vrf:
        return Default(None, version)
    vrf = sources.links().get(sources.vrf)
    if vrf is None or not vrf.vrf_table:
        raise check.NotChecked('there is no such VRF')
    return Default(sources.has_default(vrf, version), version)


def judge_default(found):
    """A VRF without a default route is broken.

    :param found: :class:`Default`
    """
    family = f'IPv{found.version:d}'
    if found.present is None:
        yield check.not_checked('[frr] vrf_name is empty: the default VRF')
    elif found.present:
        yield check.ok(f'the VRF has a default route of {family}')
    else:
        yield check.broken(
            f'the VRF has no default route of {family} that can be used, so '
            'what floating IPs send is dropped', 'have the fabric announce a '
            f'default route of {family}, and FRR accept it (an inbound '
            'prefix list)')


CHECKS = (
    check.Check(
        'routing-tables', 'routing tables', 'no other program has routes in '
        'the tables of the agent', read_tables, judge_tables, ('vrf',)),
    check.Check(
        'rule-priorities', 'policy rules', 'no other program has rules at '
        'the priorities of the agent', read_rules, judge_rules),
    check.Check(
        'l3mdev-rule', 'policy rules', 'the kernel\'s rule for VRFs is '
        'there', read_rules, judge_l3mdev, ('vrf',)),
    *families.of_both('default-route-ipv6', check.Check(
        'vrf-default-route', 'provider VRF', 'the VRF has a default route of '
        'IPv4', read_default, judge_default,
        ('vrf', 'uplink', 'l3mdev-rule', 'bgp-sessions')),
        'the VRF has a default route of IPv6'),
)
