# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Somebody deletes or changes objects of the agent; nobody repairs them here.

The agent is on its own: an action only breaks.
"""

import re

from lab import node as nodes
from lab import plan
from lab import routers
from lab.chaos import world as worlds
from lab.chaos.actions import base

# The marks that the documentation of the agent names
# (doc/source/reference/ownership.rst).
_PROTOCOL = '44'
_COOKIES = {'hairpin': '0x998', 'mac': '0x999'}
_MARK = 'ovn-network-agent'
_LEAK_TABLE = '200'
_PAIR = 'veth-default'
_SYSCTLS = (
    ('net/ipv4/conf/br-ex/proxy_arp', '0'),
    ('net/ipv4/neigh/br-ex/proxy_delay', '80'),
    ('net/ipv4/conf/veth-provider/accept_local', '0'),
    ('net/ipv4/conf/veth-default/promote_secondaries', '0'))


def _owner(step):
    name = step.world.owner(step.target)
    if not name:
        raise nodes.NodeError(f'nobody has {step.target}')
    return name


def _address(step):
    return step.world.address(step.target)


def _route(step):
    step.cloud[_owner(step)].batch(
        f'route del {_address(step)}/32 dev {plan.BRIDGE}\n')


def _leak_route(step):
    step.node.batch(f'route del default table {_LEAK_TABLE}\n')


def _announcement(step):
    name = _owner(step)
    address = _address(step)
    if step.world.gateway(name).method == 'kernel':
        step.cloud[name].batch(
            f'route del {address}/32 table {plan.VRF_TABLE}\n')
        return
    line = next(text.strip() for text in step.cloud[name].out(
        'vtysh', '-c', 'show running-config').splitlines()
        if text.strip().startswith(f'ip route {address}/32 '))
    _vtysh(step.cloud[name], f'vrf {plan.VRF}', 'no ' + line)


def _vtysh(node, *lines):
    node.run(['vtysh', *(word for line in ('configure terminal', *lines)
                         for word in ('-c', line))])


def _rule(step):
    """A rule by its place among ours."""
    ours = [line.partition(':') for line in step.node.out(
        'ip', 'rule').splitlines() if f'proto {_PROTOCOL}' in line]
    number, _colon, _text = ours[step['place'] % len(ours)]
    step.node.batch(f'rule del priority {number}\n')


def _with_vip(step):
    """A gateway that has the VIP, the target above all."""
    for name in (step.target, *step.cloud.gateways):
        if worlds.FIRST_VIP + '/32' in step.cloud[name].out(
                'ip', '-o', '-4', 'addr', 'show', 'dev', 'loopback1'):
            return step.cloud[name]
    raise nodes.NodeError('no gateway has the VIP')


def _vip(step):
    _with_vip(step).batch(f'addr del {worlds.FIRST_VIP}/32 dev loopback1\n')


def _pair_address(step):
    step.node.batch(f'addr del 169.254.0.1/30 dev {_PAIR}\n')


def _neighbour(step):
    step.node.batch(f'neigh del 169.254.0.2 dev {_PAIR}\n')


def _link(step):
    step.node.batch({'down': f'link set {_PAIR} down\n',
                     'deleted': f'link del {_PAIR}\n',
                     'other VRF': f'link set {_PAIR} master {plan.VRF}\n'}[
                         step['damage']])


def _sysctl(step):
    path, value = step['sysctl']
    step.node.sysctl(**{path.replace('/', '__'): value})


def _nft(step):
    node = _with_vip(step)
    node.run(['nft', *{'table': ('delete', 'table', 'ip', _MARK),
                       'chain': ('flush', 'chain', 'ip', _MARK,
                                 'prerouting_dnat')}[step['damage']]])


def _flows(step):
    step.node.run(['ovs-ofctl', 'del-flows', plan.BRIDGE,
                   f'cookie={_COOKIES[step["cookie"]]}/-1'])


def _other_actions(step):
    """A hairpin flow drops what it has to return."""
    name = _owner(step)
    found = re.search(rf'priority=\S*nw_dst={re.escape(_address(step))}\b\S*',
                      step.cloud[name].out(
                          'ovs-ofctl', 'dump-flows', plan.BRIDGE,
                          f'cookie={_COOKIES["hairpin"]}/-1'))
    # OpenFlow 1.0 would change the cookie, too.
    step.cloud[name].run(['ovs-ofctl', '-O', 'OpenFlow13', '--strict',
                          'mod-flows', plan.BRIDGE,
                          f'{found[0]},actions=drop'])


def _prefix_list(step):
    """The line of the agent: its sequence numbers have ten digits."""
    name = _owner(step)
    line = re.search(r'ip prefix-list ANNOUNCED-NETWORKS seq 1\d{9} .*',
                     step.cloud[name].out('vtysh', '-d', 'bgpd', '-c',
                                          'show running-config'))
    _vtysh(step.cloud[name], 'no ' + line[0].strip())


def _default_route(step):
    router = step.world.routers[step.target]

    def delete(_txn, tables):
        row = routers.find_one(tables, 'Logical_Router',
                               name=router.row_name)
        for route in list(row.static_routes):
            if _MARK in route.external_ids:
                row.delvalue('static_routes', route)

    step.cloud.nb.transact(delete)


def _mac_binding(step):
    router = step.world.routers[step.target]

    def edit(_txn, tables):
        for row in tables['Static_MAC_Binding'].rows.values():
            if row.logical_port == router.lrp:
                row.mac = '02:00:00:00:00:99'

    step.cloud.nb.transact(edit)


def _storm(step):
    for name in step['kinds']:
        {'rule': lambda one: _rule(_Part(one, place=1)),
         'neighbour': _neighbour, 'leak-route': _leak_route,
         'hairpin': lambda one: _flows(_Part(one, cookie='hairpin')),
         'mac': lambda one: _flows(_Part(one, cookie='mac')),
         'link': lambda one: _link(_Part(one, damage='down'))}[name](step)


class _Part:
    """A step with parameters of its own."""

    def __init__(self, step, **parameters):
        self._step = step
        self._parameters = parameters

    def __getattr__(self, name):
        return getattr(self._step, name)

    def __getitem__(self, name):
        return self._parameters[name]


def _action(name, what, perform, on='node', **choices):
    return base.Action('drift-' + name, what, perform, on=on,
                       choices=choices)


ACTIONS = (
    _action('route', 'host route deleted', _route, 'router'),
    _action('leak-route', 'leak route deleted', _leak_route),
    _action('announcement', 'announcing route deleted', _announcement,
            'router'),
    _action('rule', 'policy rule deleted', _rule, place=tuple(range(8))),
    _action('vip', 'address of a VIP deleted', _vip),
    _action('pair-address', 'address of the veth pair deleted',
            _pair_address),
    _action('neighbour', 'neighbour deleted', _neighbour),
    _action('link', 'veth pair down, deleted or in another VRF', _link,
            damage=('down', 'deleted', 'other VRF')),
    _action('sysctl', 'sysctl changed', _sysctl, sysctl=_SYSCTLS),
    _action('nft', 'nftables table or chain emptied', _nft,
            damage=('table', 'chain')),
    _action('flows', 'all flows of a cookie deleted', _flows,
            cookie=('hairpin', 'mac')),
    _action('other-actions', 'actions of a flow changed', _other_actions,
            'router'),
    _action('prefix-list', 'line of the prefix list deleted', _prefix_list,
            'router'),
    _action('default-route', 'default route deleted in NB', _default_route,
            'router'),
    _action('mac-binding', 'MAC binding changed in NB', _mac_binding,
            'router'),
    _action('storm', 'several kinds of drift at once', _storm, kinds=(
        ('rule', 'neighbour', 'hairpin'), ('leak-route', 'mac', 'hairpin'),
        ('link', 'hairpin', 'mac'))),
)
