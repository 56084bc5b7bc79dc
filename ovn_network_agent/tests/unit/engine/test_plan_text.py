# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The plan as text, and the lines of the log about changes."""

import fixtures
from oslotest import base

from ovn_network_agent import resources
from ovn_network_agent.engine import application
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import plan_text

ROUTE = resources.KernelRoute(254, '198.51.100.10/32', 'br-ex')
ANNOUNCEMENT = resources.Announcement('', '198.51.100.10/32', 'br-ex')


class RenderTest(base.BaseTestCase):

    def test_one_line_a_change_in_order_and_a_sum(self):
        lines = plan_text.render(
            [('create', ROUTE), ('update', resources.Sysctl('net/a', '1')),
             ('delete', ANNOUNCEMENT), ('delete', ROUTE)],
            outcome.Outcome(unreadable={'frr_static': 'vtysh failed'},
                               failures={ROUTE.ref: 'a conflict'}))
        self.assertEqual([
            '+ kernel_route table=254 dst=198.51.100.10/32 dev=br-ex',
            '~ sysctl path=net/a value=1',
            '- announcement vrf= prefix=198.51.100.10/32 nexthop=br-ex',
            '- kernel_route table=254 dst=198.51.100.10/32 dev=br-ex',
            '! frr_static: vtysh failed',
            '! kernel_route 254,198.51.100.10/32: a conflict',
            'Plan: 1 to create, 1 to update, 2 to delete; nothing was '
            'changed.'], lines)

    def test_vnis(self):
        lines = plan_text.render([
            ('create', resources.VniDevices(
                1001, 10001001, '06:6f:00:00:00:01', '192.0.2.11', 4789,
                1450, 'vrf-provider')),
            ('update', resources.VniPort(
                'vrf1a2b3c4d-5e', 1001, '02:00:03:e9:00:c9', 'br-ex', 201)),
            ('create', resources.EvpnInstance(
                1001, 0, '192.0.2.11', '192.0.2.11:1001', ('64999:1001',),
                ('64999:1001', '64999:1'))),
            ('delete', resources.VniRule(1100, resources.BLACKHOLE,
                                         iif='br-1001', ipv6=True)),
            ('create', resources.VniRoute(
                10001001, '192.168.50.10/32', 'vrf1a2b3c4d-5e', vni=1001))],
            outcome.Outcome())
        self.assertEqual([
            '+ vni_devices vni=1001 table=10001001 mac=06:6f:00:00:00:01 '
            'local=192.0.2.11 port=4789 mtu=1450 underlay=vrf-provider',
            '~ vni_port name=vrf1a2b3c4d-5e vni=1001 mac=02:00:03:e9:00:c9 '
            'bridge=br-ex tag=201',
            '+ evpn_instance vni=1001 asn=0 router_id=192.0.2.11 '
            'rd=192.0.2.11:1001 imports=64999:1001 '
            'exports=64999:1,64999:1001',
            '- vni_rule priority=1100 table=0 iif=br-1001 ipv6=True',
            '+ vni_route table=10001001 dst=192.168.50.10/32 '
            'dev=vrf1a2b3c4d-5e vni=1001'], lines[:-1])

    def test_what_is_not_known_is_not_promised(self):
        lines = plan_text.render(
            [('create', ROUTE), ('unknown', ANNOUNCEMENT)],
            outcome.Outcome(unreadable={'frr_static': 'vtysh failed'}))
        self.assertEqual('? announcement vrf= prefix=198.51.100.10/32 '
                         'nexthop=br-ex', lines[1])
        self.assertEqual('Plan: 1 to create, 0 to update, 0 to delete, 1 '
                         'that could not be looked at; nothing was '
                         'changed.', lines[-1])

    def test_nothing_to_do(self):
        self.assertEqual(['Plan: 0 to create, 0 to update, 0 to delete; '
                          'nothing was changed.'],
                         plan_text.render([], outcome.Outcome()))


def route(number):
    return resources.KernelRoute(
        254, f'198.18.{number >> 8}.{number & 255}/32', 'br-ex')


class LinesTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger(application.__name__))

    def told(self, *changes):
        application.tell(changes)
        return self.log.output.splitlines()

    def test_one_by_one(self):
        said = self.told(*(('created', route(n)) for n in range(100)))
        self.assertEqual(100, len(said))
        self.assertEqual(
            'created kernel_route table=254 dst=198.18.0.0/32 dev=br-ex',
            said[0])

    def test_many_share_lines(self):
        said = self.told(*(('deleted', route(n)) for n in range(1020)))
        self.assertEqual(21, len(said))
        self.assertTrue(said[0].startswith(
            'deleted kernel_route, 1 to 50 of 1020: 254,198.18.0.0/32 '
            '254,198.18.0.1/32 '), said[0])
        self.assertTrue(said[-1].startswith(
            'deleted kernel_route, 1001 to 1020 of 1020: 254,198.18.3.232/32'),
            said[-1])

    def test_few_beside_many(self):
        """They stay in the order in which they were made."""
        said = self.told(('created', route(5000)),
                         *(('deleted', route(n)) for n in range(101)),
                         ('created', route(5001)))
        self.assertEqual(
            ['created kernel_route table', 'deleted kernel_route, 1',
             'deleted kernel_route, 51', 'deleted kernel_route, 101',
             'created kernel_route table'],
            [line.split('=')[0].split(' to ')[0] for line in said])
