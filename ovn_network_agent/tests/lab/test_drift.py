# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Each kind of object is broken by hand, and repaired at once.

The watches have to notice: everything is compared every ten minutes only.
"""

import http.client
import re
import statistics
import time
import unittest

from lab import node as nodes
from lab import plan
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base

PORT = 9132
# Seconds for a repair; that of reconcile_interval would take ten minutes.
LIMIT = 5
_REPAIRS = re.compile(
    r'^ovn_network_agent_repairs_total\{kind="(\w+)"\} (\d+)', re.MULTILINE)
_NETWORK = str(plan.PROVIDER)


def fetch():
    """The metrics of the agent, to a program on its node."""
    client = http.client.HTTPConnection('127.0.0.1', PORT, timeout=10)
    try:
        client.request('GET', '/metrics')
        return client.getresponse().read().decode()
    finally:
        client.close()


class TestDrift(base.LabTestCase):
    """Router alpha is on gw1, whose agent announces with static routes."""

    GATEWAYS = 1
    METHOD = 'static'
    CONFIG = {'DEFAULT': {'reconcile_interval': 600},
              'metrics': {'listen': f'127.0.0.1:{PORT:d}'}}
    #: seconds of the repairs so far
    took = []

    @classmethod
    def build(cls):
        cls.alpha = cls.cloud.add_router('alpha')
        cls.vm, cls.fip = cls.machine(cls.alpha)

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        if cls.took:
            base.note(f'{len(cls.took)} repairs: median '
                      f'{statistics.median(cls.took):.2f} s, at most '
                      f'{max(cls.took):.2f} s')

    def setUp(self):
        super().setUp()
        self.node = self.cloud['gw1']
        self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)
        nodes.wait_until('the rows are in NB', lambda: (
            self.default_route(self.alpha) and
            self.mac_binding(self.alpha)), base.SETTLE)

    def repairs(self):
        """Repaired objects so far, dict of kind to number."""
        return {kind: int(count) for kind, count in
                _REPAIRS.findall(self.node.call(fetch))}

    def grown(self, before):
        """What was repaired since then, dict of kind to number."""
        return {kind: count - before.get(kind, 0)
                for kind, count in self.repairs().items()
                if count != before.get(kind, 0)}

    def broken(self, name, break_, there, **kinds):
        """Break something; the agent restores it once, and counts it.

        :param break_: function without arguments
        :param there: function that tells whether the object is in place
        :param kinds: number of repairs by kind
        """
        nodes.wait_until(f'{name} is in place', there, base.SETTLE)
        before, mark = self.repairs(), self.mark('gw1')
        break_()
        began = time.monotonic()
        nodes.wait_until(
            f'{name} is repaired and counted',
            lambda: set(kinds) <= set(self.grown(before)), LIMIT, 0.02)
        took = time.monotonic() - began
        nodes.wait_until(f'{name} is back', there, LIMIT, 0.02)
        self.took.append(took)
        base.note(f'{name}: repaired within {took:.2f} s')
        self.reach(self.client, 'icmp', self.fip.address, 3)
        self.assertEqual(kinds, self.grown(before), self.said('gw1', mark))
        self.assertEqual(0, self.said('gw1', mark).count('(full)'))

    # -- Open vSwitch -----------------------------------------------------

    def _flows_broken(self, name, *argv, count):
        flows = set(self.flows('gw1'))
        self.broken(name, lambda: self.node.run(['ovs-ofctl', *argv]),
                    lambda: set(self.flows('gw1')) == flows, flow=count)

    def test_hairpin_flows(self):
        count = len(self.flows('gw1', ownership.COOKIE_HAIRPIN))
        self._flows_broken('the hairpin flows', 'del-flows', plan.BRIDGE,
                           'cookie=0x998/-1', count=count)

    def test_mac_flows(self):
        count = len(self.flows('gw1', ownership.COOKIE_MAC_TWEAK))
        self._flows_broken('the MAC-tweak flows', 'del-flows', plan.BRIDGE,
                           'cookie=0x999/-1', count=count)

    def test_other_actions(self):
        self._flows_broken(
            # OpenFlow 1.0 would change the cookie, too.
            'a flow with other actions', '-O', 'OpenFlow13', '--strict',
            'mod-flows', plan.BRIDGE,
            next(text for text in self.flows(
                'gw1', ownership.COOKIE_HAIRPIN)
                if f'nw_dst={self.fip.address} ' in text
            ).partition(' actions=')[0] + ',actions=drop', count=1)

    # -- FRR --------------------------------------------------------------

    def test_prefix_list(self):
        def line():
            return next((text.strip() for text in self.node.out(
                'vtysh', '-d', 'bgpd', '-c', 'show ip prefix-list '
                'ANNOUNCED-NETWORKS').splitlines()
                if f'permit {_NETWORK} ge 32 le 32' in text), '')

        self.broken('the line of the prefix list', lambda: self.node.run(
            ['vtysh', '-c', 'conf t', '-c',
             f'no ip prefix-list ANNOUNCED-NETWORKS {line()}']),
            line, prefix_list_entry=1)
        self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)

    def test_static_route(self):
        route = f'ip route {self.fip.address}/32 169.254.0.1'
        self.broken('the static route', lambda: self.node.run(
            ['vtysh', '-c', 'conf t', '-c', f'vrf {plan.VRF}', '-c',
             'no ' + route]),
            lambda: route in self.statics('gw1'), announcement=1)
        self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)

    # -- the kernel -------------------------------------------------------

    def _deleted(self, name, line, there, **kinds):
        self.broken(name, lambda: self.node.batch(line + '\n'), there,
                    **kinds)

    def test_routes(self):
        self._deleted('the host route',
                      f'route del {self.fip.address}/32 dev br-ex',
                      lambda: self.fip.address in self.kernel_routes('gw1'),
                      kernel_route=1)
        self._deleted('the leak route', 'route del default table 200',
                      lambda: 'default' in self.kernel_routes('gw1', '200'),
                      kernel_route=1)

    def test_rules(self):
        def rules():
            return sorted(line for line in self.node.out(
                'ip', 'rule').splitlines()
                if f'proto {ownership.RULE_PROTOCOL:d}' in line)

        wanted = rules()
        number = wanted[0].partition(':')[0]
        self._deleted(f'rule {number}', f'rule del priority {number}',
                      lambda: rules() == wanted, rule=1)

    def test_neighbour(self):
        self._deleted(
            'the neighbour', 'neigh del 169.254.0.2 dev veth-default',
            lambda: '169.254.0.2' in self.node.out(
                'ip', 'neigh', 'show', 'dev', 'veth-default', 'nud',
                'permanent'), neighbour=1)

    def test_sysctls(self):
        """Those that the kernel reports, and those that it does not."""
        for path, value, bad in (
                ('net/ipv4/conf/br-ex/proxy_arp', '1', '0'),
                ('net/ipv4/neigh/br-ex/proxy_delay', '0', '80'),
                ('net/ipv4/conf/veth-provider/accept_local', '1', '0'),
                ('net/ipv4/conf/veth-default/promote_secondaries', '1',
                 '0')):
            def read(path=path):
                with open('/proc/sys/' + path) as opened:
                    return opened.read().strip()

            def write(path=path, bad=bad):
                with open('/proc/sys/' + path, 'w') as opened:
                    opened.write(bad)

            with self.subTest(path):
                self.broken(path, lambda write=write: self.node.call(write),
                            lambda read=read, value=value: self.node.call(
                                read) == value, sysctl=1)

    # -- OVN --------------------------------------------------------------

    def test_northbound(self):
        def delete(_txn, tables):
            for row in list(tables['Logical_Router'].rows.values()):
                for route in list(row.static_routes):
                    row.delvalue('static_routes', route)

        def edit(_txn, tables):
            for row in tables['Static_MAC_Binding'].rows.values():
                row.mac = '02:00:00:00:00:99'

        route = self.default_route(self.alpha)
        self.broken('the default route in NB',
                    lambda: self.cloud.nb.transact(delete),
                    lambda: self.default_route(self.alpha) == route,
                    default_route=1, advertised=1)
        mac = self.mac_binding(self.alpha)
        self.broken('the MAC binding in NB',
                    lambda: self.cloud.nb.transact(edit),
                    lambda: self.mac_binding(self.alpha) == mac,
                    mac_binding=1)
        self.reach(self.vm.node, 'icmp', plan.CLIENT)


if __name__ == '__main__':
    unittest.main()
