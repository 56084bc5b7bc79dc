# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The limits of the privileged side for the driver egress_ip."""

import errno

from oslotest import base

from ovn_network_agent import ownership
from ovn_network_agent.netlink.objects import rules
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.tests.unit import world

BACK, OUT, DROP = ownership.EGRESS_PRIORITIES
TABLE, WAY_BACK = ownership.EGRESS_TABLES[1], ownership.EGRESS_BACK_TABLE
MACHINE = '10.0.1.9/32'
# The device with the index 1.
LINK = 'lo'
MARK = (ownership.MARK_EGRESS, ownership.MARK_EGRESS)


def rule(priority, table, src=None, dst=None, iif=None, fwmark=None,
         suppress=None):
    return rules.Rule(priority, table, src, dst, iif, fwmark,
                      ownership.RULE_PROTOCOL, suppress)


class EgressLimitsTest(base.BaseTestCase):

    def limits(self, *drivers, **options):
        return limits.from_conf(world.conf(
            drivers=list(drivers or ['egress_ip']), **options))

    def calls(self, within):
        """What the driver needs: (function, arguments)."""
        for each in (rule(BACK, WAY_BACK, fwmark=MARK),
                     rule(BACK, WAY_BACK, dst=MACHINE, iif='eth1'),
                     rule(DROP, 0, fwmark=MARK),
                     rule(OUT, TABLE, src=MACHINE, iif='br-ex'),
                     rule(OUT, TABLE, src='fd01::9/128', iif='br-ex.7'),
                     rule(DROP, 0, src=MACHINE, iif='br-ex'),
                     rule(DROP, 0, src='10.0.1.0/24', iif='br-ex')):
            yield within.check_rule, (each,)
        yield within.check_route, (WAY_BACK, MACHINE, 'br-ex',
                                   '198.51.100.1', 0)
        for text in ('203.0.113.7/32', '2001:db8:7::7/128'):
            yield within.check_address, ('eth1', text)
        for path in ('net/ipv4/conf/eth1/forwarding',
                     'net/ipv6/conf/eth1/ndisc_notify'):
            yield within.check_sysctl, (path,)
        yield within.egress.check_loaded, ()

    def test_what_the_driver_wants(self):
        for function, args in self.calls(self.limits()):
            function(*args)

    def test_nothing_without_the_driver(self):
        for function, args in self.calls(self.limits(
                'fip_route', 'provider_port', 'tenant_network')):
            error = self.assertRaises(OSError, function, *args)
            self.assertEqual(errno.EPERM, error.errno, args)

    def test_nothing_else(self):
        within = self.limits(port_forward__port_forward_dev='loopback1')
        calls = [(within.check_rule, (each,)) for each in (
            rule(BACK, WAY_BACK, dst='10.0.1.0/24', iif='eth1'),
            rule(BACK, WAY_BACK, dst=MACHINE, iif='br-ex'),
            rule(BACK, WAY_BACK, dst=MACHINE),
            rule(BACK, 254, dst=MACHINE, iif='eth1'),
            rule(DROP, 0, dst=MACHINE, iif='eth1'),
            rule(BACK, WAY_BACK, src=MACHINE, dst=MACHINE, iif='eth1'),
            rule(BACK, WAY_BACK, dst=MACHINE, iif='eth1', fwmark=MARK),
            rule(BACK, WAY_BACK, fwmark=(0x200, 0x200)),
            rule(BACK, WAY_BACK, fwmark=MARK, iif='eth1'),
            rule(BACK, WAY_BACK, fwmark=MARK, src=MACHINE),
            rule(BACK, 254, fwmark=MARK),
            rule(OUT, WAY_BACK, fwmark=MARK),
            rule(DROP, TABLE, fwmark=MARK),
            rule(OUT, TABLE, src='10.0.1.0/24', iif='br-ex'),
            rule(OUT, TABLE, src=MACHINE, iif='eth1'),
            rule(OUT, TABLE, src=MACHINE),
            rule(OUT, 254, src=MACHINE, iif='br-ex'),
            rule(OUT, TABLE, src=MACHINE, iif='br-ex', suppress=0),
            rule(OUT, TABLE, src=MACHINE, iif='br-ex', fwmark=(1, 1)),
            rule(DROP, TABLE, src=MACHINE, iif='br-ex'),
            rule(DROP, 0, src=MACHINE, iif='eth1'),
            rule(DROP, 0, iif='br-ex'),
            rule(DROP + 1, 0, src=MACHINE, iif='br-ex'))]
        calls += [(within.check_route, args) for args in (
            (WAY_BACK, '10.0.1.0/24', 'br-ex', '198.51.100.1', 0),
            (WAY_BACK, MACHINE, 'br-ex', '', 0),
            (WAY_BACK, MACHINE, 'eth1', '198.51.100.1', 0),
            (TABLE, '0.0.0.0/0', 'br-ex', '198.51.100.1', 0),
            (TABLE + 1, '0.0.0.0/0', LINK, '198.51.100.1', 0),
            (TABLE, '0.0.0.0/0', LINK, '198.51.100.1', 0),
            (254, '0.0.0.0/0', 'eth1', '198.51.100.1', 0))]
        calls += [(within.check_address, args) for args in (
            ('eth1', '203.0.113.7/24'), ('br-ex', '203.0.113.7/32'),
            ('eth1', '224.0.0.1/32'), ('eth1', '127.0.0.1/32'),
            ('eth1', '0.0.0.0/32'), (LINK, '203.0.113.7/32'),
            ('veth-default', '203.0.113.7/32'),
            ('eth1', 'fe80::1/128'))]
        calls += [(within.check_sysctl, (path,)) for path in (
            'net/ipv4/conf/eth1/proxy_arp', f'net/ipv4/conf/{LINK}/forwarding',
            'net/ipv4/conf/eth1/accept_local',
            # Of all devices of the node.
            'net/ipv4/conf/all/forwarding',
            'net/ipv4/conf/default/forwarding')]
        for function, args in calls:
            error = self.assertRaises(OSError, function, *args)
            self.assertEqual(errno.EPERM, error.errno, args)

    def test_a_gateway_may_be_on_the_link(self):
        self.assertTrue(self.limits().is_onlink(TABLE, 'eth1'))
        self.assertFalse(self.limits().is_onlink(254, 'eth1'))
