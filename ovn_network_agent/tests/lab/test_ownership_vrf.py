# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Who owns what in the kernel, with a VRF and the veth leak.

The paths of functional.engine.test_ownership and what only a VRF has.  Needs
nothing of the lab but its kernel.
"""

import itertools
import re
import subprocess
import tempfile

from lab import node as nodes
from ovn_network_agent import model
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.tests.functional.engine import test_ownership
from ovn_network_agent.tests.functional.engine import whole
from ovn_network_agent.tests.lab import vrf_cases

STOPPED = vrf_cases.STOPPED
VRF = vrf_cases.VRF
IN_THE_VRF = vrf_cases.IN_THE_VRF
ALPHA = vrf_cases.ALPHA
WAY_BACK = vrf_cases.WAY_BACK
# What rests on the pair goes with it, and stays as long as it does.
ON_THE_PAIR = (
    'route add 198.51.100.10/32 via 169.254.0.1 dev veth-provider table 10 '
    'proto 196 metric 20',
    'route add 10.99.0.0/24 via 169.254.0.1 dev veth-provider table 10 '
    'proto static',
    'route add 10.98.0.0/24 via 169.254.0.2 dev veth-default table 200',
    'address add 192.0.2.193/32 dev veth-default',
    'neighbour add 169.254.0.3 lladdr 02:00:00:00:00:09 dev veth-default '
    'nud permanent',
    'neighbour add 192.0.2.194 lladdr 02:00:00:00:00:09 dev veth-provider '
    'nud permanent')
# What the original program leaves behind when it is killed.
ORIGINAL = (
    'link add veth-default type veth peer name veth-provider',
    f'link set veth-provider master {VRF}',
    'link set veth-default up',
    'link set veth-provider up',
    'address add 169.254.0.1/30 dev veth-default',
    'address add 169.254.0.2/30 dev veth-provider',
    'address add 169.254.169.254/32 dev br-ex',
    'route add default via 169.254.0.2 dev veth-default table 200',
    'rule add pref 1999 iif veth-default table 254 protocol 0',
    'rule add pref 2000 from 198.51.100.0/24 table 200 protocol 0',
    'rule add pref 2000 from 192.0.2.0/28 table 200 protocol 0',
    'route add 198.51.100.0/24 via 169.254.0.1 dev veth-provider table 10 '
    'proto 44',
    'route add 192.0.2.0/28 via 169.254.0.1 dev veth-provider table 10 '
    'proto 44',
    'route add 198.51.100.10/32 dev br-ex proto 44',
    'route add 198.51.100.77/32 dev br-ex proto 44')
EQUAL = ('rule add pref 2000 from 198.51.100.0/24 table 200 protocol 0',
         'rule add pref 2000 from 198.51.100.0/24 iif lo table 200 '
         'protocol 0')
# Each with one value that differs from the default.
CHANGES = (
    {'veth_nexthop': ('169.254.10.1', 'veth_leak')},
    {'veth_nexthop': ('169.254.0.2', 'veth_leak'),
     'veth_provider_ip': ('169.254.0.1', 'veth_leak')},
    {'veth_leak_table_id': (210, 'veth_leak')},
    {'veth_leak_rule_priority': (3000, 'veth_leak')},
    {'route_table_id': (101, 'fip_route')},
    {'route_table_id': (0, 'fip_route')},
    {'route_rule_priority': (1001, 'fip_route')},
    {'announce_method': ('kernel', 'fip_route')},
    {'bridge_ip': ('169.254.169.253', None)},
    {'bridge_dev': ('br-ex-peer', None)},
    {'vrf_name': ('', 'frr')},
    {'network_cidr': (['198.51.100.0/25'], None)})


class PathsVrfTest(test_ownership.Paths, vrf_cases.VrfCase):
    """Every path, with the leak and a table for the host routes."""

    FOREIGN = (*test_ownership.FOREIGN, *IN_THE_VRF)
    ORPHANS = (
        *test_ownership.ORPHANS,
        'route add 192.0.2.0/28 via 192.0.2.129 table 10 proto 44',
        'route add 198.51.100.99/32 via 192.0.2.129 table 10 proto 44')
    PREPARED = WAY_BACK

    def configure(self, vrf_name=VRF, **fip_route):
        return super().configure(vrf_name, route_table_id=100)

    def damages(self):
        return (
            *super().damages(),
            'link del veth-default',
            'link set veth-provider nomaster',
            'link set veth-default down',
            'link set veth-provider down',
            'address del 169.254.0.1/30 dev veth-default',
            'address del 169.254.0.2/30 dev veth-provider',
            'neighbour del 169.254.0.2 dev veth-default',
            'neighbour del 169.254.0.1 dev veth-provider',
            'route del default table 200 proto 44',
            'route del 198.51.100.0/24 table 10 proto 44',
            *(f'rule del pref {priority} protocol 44'
              for priority in (1997, 1998, 1999, 2000)))

    def test_what_rests_on_the_pair_stays_as_long_as_it(self):
        agent = self.started(ALPHA)
        planted = self.plant(*ON_THE_PAIR)
        for routers in ((ALPHA,), (), (test_ownership.elsewhere(ALPHA),),
                        (ALPHA, test_ownership.BETA)):
            for run in (agent, self.agent()):
                self.settled(run.run(*routers))
                self.assertEqual([], sorted(planted - self.state()))
                self.assert_foreign()
        self.settled(agent.run(phase=STOPPED))
        self.assert_state(self.before)

    def test_rules_then_routes_then_the_pair(self):
        """Row VETH-12: the order of the end, as the kernel tells it."""
        agent = self.started(ALPHA)
        told = tempfile.NamedTemporaryFile('r')
        self.addCleanup(told.close)
        with open(told.name, 'w') as writing:
            monitor = subprocess.Popen(['ip', 'monitor', 'all'],
                                       stdout=writing)
        self.addCleanup(monitor.wait)
        self.addCleanup(monitor.kill)
        self._told(told, '198.18.0.1')
        agent.run(phase=STOPPED)
        lines = self._told(told, '198.18.0.2')
        order = [kind for line in lines for kind, mark in self.DELETED
                 if re.match(mark, line)]
        self.assertEqual(
            [kind for kind, _mark in self.DELETED],
            [kind for kind, _each in itertools.groupby(order)])

    # Those of ours; the kernel adds some of its own to each.
    DELETED = (('rule', r'\[RULE\]Deleted .* proto 44'),
               ('route', r'\[ROUTE\]Deleted .* proto 44'),
               ('neighbour', r'\[NEIGH\]Deleted 169\.254\.0\..* dev veth-'),
               ('address', r'\[ADDR\]Deleted .* veth-.* inet '),
               ('pair', r'\[LINK\]Deleted .* veth-'))

    def _told(self, told, address):
        """What the monitor tells until it tells of a new route, lines."""
        text = []

        def seen():
            self.ip('route add blackhole ' + address)
            self.ip('route del blackhole ' + address)
            text.append(told.read())
            return address in text[-1]

        nodes.wait_until('the monitor tells of ' + address, seen, 20)
        return ''.join(text).splitlines()


class UpgradeTest(vrf_cases.VrfCase):
    """On a node where the original program was killed."""

    def setUp(self):
        super().setUp()
        # What the kernel takes for equal, see functional.backends.test_rule.
        self.plant(*(rule for rule in test_ownership.RULES
                     if rule not in EQUAL),
                   *IN_THE_VRF, 'address add 192.0.2.65/24 dev br-ex')
        self.before = self.state()
        self.plant(*ORIGINAL)
        for dev, dst, peer in (
                ('veth-default', '169.254.0.2', 'veth-provider'),
                ('veth-provider', '169.254.0.1', 'veth-default')):
            mac = self.shown(f'link show {peer}')[0]['address']
            self.ip(f'neighbour add {dst} lladdr {mac} dev {dev} '
                    f'nud permanent')

    def test_it_is_adopted_and_the_rest_goes(self):
        pair = links.read_all()['veth-provider'].index
        left = self.state()
        agent = whole.Agent(self.conf)
        self.settled(agent.run(ALPHA))
        after = self.state()
        # What is still wanted was there all the time.
        self.assertEqual(pair, links.read_all()['veth-provider'].index)
        self.assertEqual([], sorted(self.before - after))
        self.assertEqual(
            [], [line for line in sorted(after)
                 if '192.0.2.0/28' in line or '198.51.100.77' in line])
        # One default route, with our mark now.
        gone = sorted(line for line in left - after
                      if '192.0.2.0/28' not in line and
                      '198.51.100.77' not in line)
        self.assertEqual(1, len(gone), gone)
        self.assertIn('table 200', gone[0])
        self.assertEqual(0, self.settled(agent.run(ALPHA)).changes)
        self.settled(agent.run(ALPHA, phase=STOPPED))
        self.assert_state(self.before)

    def test_where_our_leak_is_off_all_of_it_stays(self):
        """Row VETH-13: then it is the operator's own."""
        self.conf.set_override('veth_leak_enabled', False, 'veth_leak')
        for route in ('192.0.2.0/28 table 10', '198.51.100.77/32'):
            self.ip(f'route del {route}')
        left = self.state()
        agent = whole.Agent(self.conf)
        for phase in (model.Phase.RUNNING, STOPPED):
            self.settled(agent.run(ALPHA, phase=phase))
            lost = sorted(left - self.state())
            if phase is STOPPED:
                # Ours all the same, by option and by protocol.
                lost = [line for line in lost if 'br-ex' not in line and
                        '169.254.169.254' not in line]
            self.assertEqual([], lost)
            self.assertEqual([], [
                line for line in self.state() - left
                if 'veth' in line or line.startswith('rule:')])


class SwitchedOffTest(vrf_cases.VrfCase):
    """Row VETH-13: a node that had our leak."""

    def test_what_traffic_goes_through_stays(self):
        agent = whole.Agent(self.conf)
        self.settled(agent.run(ALPHA))
        left = self.state()
        self.conf.set_override('veth_leak_enabled', False, 'veth_leak')
        agent = whole.Agent(self.conf, agent.world)
        self.assertEqual(0, self.settled(agent.run(ALPHA)).changes)
        self.assert_state(left)


class ChangedConfigurationTest(vrf_cases.VrfCase):
    """Killed, and started again with another configuration."""

    def test_nothing_of_the_former_one_is_left(self):
        before = self.state()
        for change in CHANGES:
            with self.subTest(change):
                old = self.configure()
                self.conf = self.configure()
                for option, (value, group) in change.items():
                    self.conf.set_override(option, value, group)
                wanted = self._run(self.conf)
                self._run(self.conf, STOPPED)
                self.assert_state(before)
                self._run(old)
                found = self._run(self.conf)
                self.assertEqual(([], []), (sorted(wanted - found),
                                            sorted(found - wanted)))
                self._run(self.conf, STOPPED)
                self.assert_state(before)

    def _run(self, conf, phase=model.Phase.RUNNING):
        agent = whole.Agent(conf)
        self.settled(agent.run(ALPHA, phase=phase))
        return self.state()
