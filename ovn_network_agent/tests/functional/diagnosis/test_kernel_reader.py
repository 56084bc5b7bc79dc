# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The kernel's state and answers for one address."""

from ovn_network_agent.diagnosis.readers import kernel
from ovn_network_agent.tests.functional.netlink import base

FIP = '198.51.100.10'
CLIENT = '203.0.113.10'
SYSCTL = 'net/ipv4/conf/br-ex/forwarding'


class KernelTestCase(base.KernelTestCase):

    def setUp(self):
        super().setUp()
        self.bridge_up()
        self.ip('link add veth-default type veth peer name veth-provider')
        self.ip('address add 169.254.0.1/30 dev veth-default')
        for name in ('veth-default', 'veth-provider'):
            self.ip(f'link set {name} up')
            self.forward(name)
        self.forward('br-ex')
        self.ip(f'route add {FIP}/32 dev br-ex proto 44')
        self.ip('route add default via 169.254.0.2 dev veth-default '
                'table 200 proto 44')
        self.ip('rule add priority 2000 from 198.51.100.0/24 lookup 200 '
                'protocol 44')

    def forward(self, name):
        for option, value in (('forwarding', 1), ('rp_filter', 0)):
            self.set_sysctl(f'net/ipv4/conf/{name}/{option}', str(value))

    def read(self, **values):
        return kernel.read(kernel.Wanted(**{
            'address': FIP, 'client': CLIENT, 'device': 'br-ex',
            'pair': True, 'sysctls': (SYSCTL, 'net/ipv4/nothing'),
            'tables': (200,), **values}))


class KernelTest(KernelTestCase):

    def test_routes(self):
        lookups = self.read().lookups
        here = lookups['here']
        self.assertEqual(
            ('', 254, FIP + '/32', 'br-ex', None, 44, False, False, False),
            tuple(here))
        self.assertEqual('br-ex', lookups['in'].dev, lookups['in'])
        back = lookups['out']
        self.assertEqual((200, '0.0.0.0/0', 'veth-default', '169.254.0.2'),
                         (back.table, back.dst, back.dev, back.via), back)
        self.assertNotIn('vrf', lookups)

    def test_neighbour_proxies(self):
        self.ip('-6 neigh add proxy 2001:db8::1 dev br-ex')
        self.ip('-6 neigh add proxy 2001:db8::1 dev veth-default')
        self.assertEqual(frozenset(), self.read().proxies)
        self.assertEqual({('br-ex', '2001:db8::1')},
                         self.read(proxies=True).proxies)

    def test_a_rule_about_the_address_alone(self):
        self.ip(f'rule add priority 5 to {FIP} unreachable')
        found = self.read()
        self.assertTrue(found.lookups['here'].error)
        self.assertEqual([(5, FIP + '/32')], [
            (rule.priority, rule.dst) for rule in found.towards
            if rule.priority == 5])

    def test_rp_filter(self):
        """A source that came in by the wrong device."""
        self.ip(f'route add {CLIENT}/32 dev br-ex')
        self.ip('rule del priority 2000')
        self.set_sysctl('net/ipv4/conf/all/rp_filter', '1')
        self.assertIn('rp_filter', self.read().lookups['in'].error)

    def test_a_device_that_does_not_forward(self):
        self.set_sysctl('net/ipv4/conf/veth-default/forwarding', '0')
        self.assertIn('does not forward', self.read().lookups['in'].error)

    def test_the_rest(self):
        self.ip(f'neighbour add {FIP} lladdr fa:16:3e:00:00:01 dev br-ex '
                'nud stale')
        found = self.read(neighbours=(('br-ex', FIP), ('br-ex', '192.0.2.9'),
                                      ('nothing', FIP)))
        self.assertEqual({'br-ex', 'veth-default', 'veth-provider'},
                         set(found.links))
        self.assertIn('169.254.0.1/30', found.addresses['veth-default'])
        self.assertEqual({('br-ex', FIP): ('fa:16:3e:00:00:01', 'STALE')},
                         found.neighbours)
        self.assertEqual({SYSCTL: '1', 'net/ipv4/nothing': None},
                         found.sysctls)
        self.assertIn(2000, [rule.priority for rule in found.rules])
        self.assertEqual(['169.254.0.2'],
                         [route.via for route in found.routes[200]])



class AnswersTest(KernelTestCase):
    """The way of a VIP's answers, as the packet mark leads them.

    The way behind the pair is in the lab, since a VRF is not in each kernel.
    """

    def setUp(self):
        super().setUp()
        for command in (
                'route add default via 169.254.0.2 dev veth-default '
                'table 201', 'rule add priority 151 fwmark 0x200 lookup 201',
                'link add eth0 type veth peer name to-office',
                'link set eth0 up', 'address add 10.10.0.1/24 dev eth0',
                f'route add {CLIENT}/32 via 10.10.0.254 dev eth0 table 220'):
            self.ip(command)

    def way(self, **values):
        """Table and device of an answer."""
        found = self.read(**{'address': '192.0.2.53', 'ask': False,
                             'vrf': 'vrf-provider', **values}).lookups
        return found['marked'].table, found['marked'].dev

    def test_the_way(self):
        self.assertEqual((201, 'veth-default'), self.way())

    def test_a_rule_of_somebody_else(self):
        """Only a rule before the packet mark decides."""
        for priority, found in ((100, (220, 'eth0')),
                                (220, (201, 'veth-default'))):
            rule = f'priority {priority} lookup 220'
            self.ip('rule add ' + rule)
            self.assertEqual(found, self.way(), rule)
            self.assertEqual((201, 'veth-default'),
                             self.way(client='203.0.113.99'), rule)
            self.ip('rule del ' + rule)

    def test_the_vip_is_a_source_behind_the_pair(self):
        """Its own address is on this node, so a device has to accept it."""
        self.ip('address add 192.0.2.53/32 dev lo')
        for accepts, refused in ((0, True), (1, False)):
            self.set_sysctl('net/ipv4/conf/veth-provider/accept_local',
                            str(accepts))
            found = self.read(address='192.0.2.53', ask=False,
                              client='10.10.0.9', vrf='vrf-provider').lookups
            self.assertIs(refused, bool(found['out vrf'].error), found)

    def test_without_a_vrf(self):
        """Nothing has a packet mark."""
        self.ip(f'route add {CLIENT}/32 via 10.10.0.253 dev eth0')
        self.assertEqual((254, 'eth0'), self.way(vrf='', pair=False))

    def test_a_client_of_the_other_family(self):
        self.assertEqual({}, self.read(address='2001:db8::53',
                                       ask=False).lookups)
