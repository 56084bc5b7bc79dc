# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Objects of the operator on each gateway and in NB, which are not ours."""

from lab import frr
from lab import plan
from lab import routers
from lab.chaos import values

PROTOCOL, COOKIE, PRIORITY = '99', '0x777', 3000
ROUTE, STATIC, ADDRESS, RULE = (
    '192.0.2.240', '192.0.2.241', '192.0.2.242', '192.0.2.243')
PREFIX = '203.0.113.128/25 ge 30 le 31'
NORTHBOUND = '203.0.113.200/32'
_TABLE = 'operator'


class Operator:
    """Plants the objects, and plants again what went with its device."""

    def __init__(self, cloud, vrf: str, ovn: bool):
        self._cloud = cloud
        self._vrf = vrf
        self._ovn = ovn

    @property
    def _table(self):
        return str(plan.VRF_TABLE) if self._vrf else 'main'

    def objects(self, name):
        """The objects of a gateway, tuple of values.Foreign."""
        find = values.Foreign
        found = [
            find(name, 'route', ('ip', 'route', 'show', 'table',
                                 self._table, 'proto', PROTOCOL), ROUTE,
                 device=self._vrf),
            find(name, 'address', ('ip', '-o', '-4', 'addr', 'show', 'dev',
                                   'loopback1'), ADDRESS + '/32'),
            find(name, 'rule', ('ip', 'rule', 'show', 'priority',
                                str(PRIORITY)), f'to {RULE}'),
            find(name, 'nft', ('nft', 'list', 'table', 'inet', _TABLE),
                 'chain kept'),
            find(name, 'static', _running(frr.STATIC),
                 f'ip route {STATIC}/32 blackhole', service='frr'),
            find(name, 'prefix-list', _running('bgpd'),
                 f'ip prefix-list ANNOUNCED-NETWORKS seq 7 permit {PREFIX}',
                 service='frr')]
        if self._ovn:
            found.append(find(
                name, 'flow', ('ovs-ofctl', 'dump-flows', plan.BRIDGE,
                               f'cookie={COOKIE}/-1'), 'tp_dst=9',
                service='vswitchd'))
        return tuple(found)

    def lines(self):
        """The lines of FRR; when saved, they come back with its daemons."""
        static = f'ip route {STATIC}/32 blackhole\n'
        if self._vrf:
            static = f'vrf {self._vrf}\n {static}exit-vrf\n'
        permitted = [f'7 permit {PREFIX}']
        if not self._ovn:
            # Such an agent does not manage FRR.
            permitted.append(f'8 permit {plan.VIPS} ge 32 le 32')
        return static + ''.join(
            f'ip prefix-list ANNOUNCED-NETWORKS seq {line}\n'
            for line in permitted)

    def plant(self, name):
        """Everything on a gateway but the lines of FRR; may be repeated."""
        node = self._cloud[name]
        node.run(['ip', 'rule', 'del', 'priority', str(PRIORITY)],
                 check=False)
        node.batch(
            f'route replace blackhole {ROUTE}/32 proto {PROTOCOL} table '
            f'{self._table}\n'
            f'addr replace {ADDRESS}/32 dev loopback1\n'
            f'rule add priority {PRIORITY:d} to {RULE}/32 lookup main\n')
        node.run(['nft', '-f', '-'], input=(
            f'table inet {_TABLE} {{\n chain kept {{\n }}\n}}\n'))
        if self._ovn:
            node.run(['ovs-ofctl', 'add-flow', plan.BRIDGE, (
                f'cookie={COOKIE},priority=5,udp,in_port=LOCAL,tp_dst=9,'
                'actions=drop')])

    def plant_northbound(self, router) -> values.Foreign:
        """A static route of a router without any mark."""
        nexthop = str(router.internal.cidr[250])

        def write(txn, tables):
            row = routers.find_one(tables, 'Logical_Router',
                                   name=router.row_name)
            route = routers.insert(
                txn, tables, 'Logical_Router_Static_Route',
                ip_prefix=NORTHBOUND, nexthop=nexthop)
            row.addvalue('static_routes', route.uuid)

        self._cloud.nb.transact(write)
        return values.Foreign(
            'central', 'nb-route', ('ovn-nbctl', 'lr-route-list',
                                    router.row_name),
            NORTHBOUND.partition('/')[0])


def _running(daemon):
    """The words of a question for the configuration of a daemon."""
    return ('vtysh', '-d', daemon, '-c', 'show running-config')
