# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the root side refuses, and how its functions are exported."""

import errno
import importlib
import pkgutil
import unittest

from ovn_network_agent import privileged
from ovn_network_agent.conf import opts
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import checks
from ovn_network_agent.tests.unit import world


class ContextsTest(unittest.TestCase):

    def test_no_submodule_replaces_a_context(self):
        for module in pkgutil.walk_packages(privileged.__path__,
                                            privileged.__name__ + '.'):
            importlib.import_module(module.name)
        for wanted in privileged.CONTEXTS:
            self.assertIs(wanted, getattr(privileged, wanted.name))
            self.assertIsInstance(wanted, context.Context)

    def test_changes_are_entry_points(self):
        from ovn_network_agent.privileged.network import kernel_routes
        self.assertTrue(
            privileged.kernel.is_entrypoint(kernel_routes.set_routes))
        self.assertFalse(privileged.ovs.is_entrypoint(kernel_routes.set_routes))
        # What decorates an entry point must not become one.
        self.assertFalse(privileged.kernel.is_entrypoint(checks.table))


class LimitsTest(unittest.TestCase):

    # The privileged daemon reads this name itself, from its own files, and
    # permits it beside that of the start: permit_prefix_list.
    READ_AT_A_RELOAD = 'frr_prefix_list'
    # Values that the options take, where their defaults do not tell.
    OTHER = {'rules_file': '/x', 'peers_file': '/x',
             'file': '/x',
             'announce_method': 'kernel', 'balance': 'consistent',
             'vip_announce': 'with-gateway', 'restore': 'ordered',
             'log_level': 'debug', 'bgp_soft_refresh': 'always',
             'address_scopes': ['11111111-2222-4333-8444-555555555555'],
             'router_tags': ['r1:4400001'], 'network_tags': ['n1:4400001'],
             'vnis': ['n1:1001'],
             'ipv6_gateways': ['2001:db8::1']}

    def changed(self, option):
        if option.name in self.OTHER:
            return self.OTHER[option.name]
        if isinstance(option.default, bool):
            return not option.default
        if isinstance(option.default, list):
            return ['192.0.2.0/24']
        return option.default + 1

    def test_a_reload_changes_none(self):
        # That there is a file of rules is nothing that a reload changes.
        before = limits.from_conf(world.conf(port_forward__rules_file='/y'))
        seen = set()
        for group, option in opts.everything():
            if option.mutable and option.dest != self.READ_AT_A_RELOAD:
                conf = world.conf(port_forward__rules_file='/y')
                conf.set_override(option.dest, self.changed(option),
                                  None if group == 'DEFAULT' else group)
                self.assertEqual(before, limits.from_conf(conf), option.dest)
                seen.add(option.dest)
        self.assertIn('announce_method', seen)

    def test_a_start_has_those_of_its_configuration(self):
        conf = world.conf()
        conf.set_override('bridge_dev', 'br-other')
        self.assertEqual(('br-other',), limits.from_conf(conf).bridges)
        self.assertNotEqual(limits.from_conf(world.conf()),
                            limits.from_conf(conf))

    def test_they_are_fixed(self):
        conf = world.conf()
        limits.fix(conf)
        self.addCleanup(limits.forget)
        conf.set_override('bridge_dev', 'br-other')
        self.assertEqual(('br-ex',), limits.current().bridges)


VRF_TABLE = 10


class ReachTest(unittest.TestCase):
    """How far routes reach that lead from the VRF to this node."""

    def conf(self, **values):
        return world.conf(frr__vrf_name='vrf-provider', drivers=[
            'fip_route', 'veth_leak', 'port_forward'], **values)

    def passes(self, conf, prefix):
        try:
            limits.from_conf(conf).check_route(
                VRF_TABLE, prefix, 'veth-provider', '169.254.0.1', VRF_TABLE)
        except PermissionError:
            return False
        return True

    def assert_passes(self, conf, *prefixes):
        self.assertEqual([], [p for p in prefixes if not self.passes(conf, p)])

    def assert_refused(self, conf, *prefixes):
        self.assertEqual([], [p for p in prefixes if self.passes(conf, p)])

    def test_discovered_networks(self):
        self.assert_passes(self.conf(), '10.0.0.0/8', '198.51.100.0/24',
                           '203.0.113.4/30', '198.51.100.10/32')
        self.assert_refused(
            self.conf(), '0.0.0.0/0', '0.0.0.0/1', '128.0.0.0/1', '8.0.0.0/7',
            '::/0', '::/1', '8000::/1', '2001:db8::/64', '127.0.0.0/8',
            '224.0.0.0/8', '127.0.0.1/32', '2001:db8::10/128')

    def test_named_networks(self):
        """A network that somebody names may be a very large one."""
        conf = self.conf(network_cidr=['198.51.100.0/24', '8.0.0.0/7'])
        self.assert_passes(conf, '198.51.100.0/24', '198.51.100.10/32',
                           '8.0.0.0/7')
        self.assert_refused(conf, '198.51.100.0/25', '203.0.113.0/24',
                            '203.0.113.10/32', '0.0.0.0/1')

    def test_vips(self):
        """They are in no provider network."""
        conf = self.conf(network_cidr=['198.51.100.0/24'],
                         port_forward__rules_file='/x')
        self.assert_passes(conf, '192.0.2.53/32')
        self.assert_refused(conf, '192.0.2.0/24', '2001:db8::53/128')

    def test_a_leak_of_the_operator(self):
        """Then the agent makes routes of addresses alone."""
        conf = self.conf(veth_leak__veth_leak_enabled=False)
        self.assert_passes(conf, '198.51.100.10/32')
        self.assert_refused(conf, '198.51.100.0/24')


class ChecksTest(unittest.TestCase):

    def refused(self, function, *values):
        for value in values:
            with self.subTest(value), self.assertRaises(OSError) as caught:
                function(value)
            self.assertEqual(errno.EINVAL, caught.exception.errno)

    def test_tables(self):
        self.refused(checks.table, 0, 255, -1, 2 ** 32, '254', True, None)
        for table in (1, 200, 253, 254, 256, 2 ** 32 - 1):
            self.assertEqual(table, checks.table(table))

    def test_priorities(self):
        self.refused(checks.priority, 0, 32766, 32767, -1, '1000', True)
        self.assertEqual(1999, checks.priority(1999))

    def test_devices(self):
        self.refused(checks.device, '', '.', '..', 'a/b', 'a b', 'a:b',
                     'a\n', 'a\0', 'a' * 16, 'ä' * 8, None, 7, b'lo')
        for name in ('lo', 'br-ex.100', 'a' * 15):
            self.assertEqual(name, checks.device(name))

    def test_texts(self):
        self.refused(checks.prefix, None, 7, '10.0.0.1/8', 'x',
                     '0.0.0.0/00', '10.0.0.0/08')
        self.refused(checks.selector, '0.0.0.0/0', '0.0.0.0/00', '::/0')
        self.refused(checks.interface, None, '10.0.0.1', '10.0.0.1/33')
        self.refused(checks.address, None, '10.0.0.1/8', '10.0.0')
        self.refused(checks.mac, None, '', 'x', '00:00:00:00:00:00',
                     'ff:ff:ff:ff:ff:ff', '01:00:5e:00:00:01')

    def test_marks(self):
        self.refused(lambda item: checks.fwmark(*item),
                     (1, 0), (-1, 1), (1, 2 ** 32), ('1', 1))
        self.assertEqual((0, 1), checks.fwmark(0, 1))

    def test_sysctls(self):
        self.refused(lambda item: checks.sysctl(*item),
                     ('net/ipv4/conf/all/../../x/proxy_arp', '1'),
                     ('/proc/sys/net/ipv4/ip_forward', '1'),
                     ('net/ipv4/ip_forward\n', '1'),
                     ('net/ipv4/tcp_syncookies', '1'),
                     ('net/ipv4/conf/./forwarding', '1'),
                     ('net/ipv4/conf/a b/forwarding', '1'),
                     ('net/ipv4/ip_forward', '1'),
                     ('net/ipv4/conf/br-ex/rp_filter', '1'),
                     ('net/ipv4/conf/lo/forwarding', 1),
                     ('net/ipv4/conf/lo/forwarding', ''),
                     ('net/ipv4/conf/lo/forwarding', '1\n'),
                     ('net/ipv4/conf/lo/forwarding', '-1'),
                     ('net/ipv4/conf/eth0/send_redirects', '1'),
                     ('net/ipv4/conf/eth0/../all/send_redirects', '0'),
                     ('net/ipv6/conf/eth0/send_redirects', '0'), (None, '1'))
        self.assertEqual(
            '/proc/sys/net/ipv4/conf/all/send_redirects',
            checks.sysctl('net/ipv4/conf/all/send_redirects', '0'))
        self.assertEqual(
            '/proc/sys/net/ipv4/conf/br-ex.100/forwarding',
            checks.sysctl('net/ipv4/conf/br-ex.100/forwarding', '1'))
