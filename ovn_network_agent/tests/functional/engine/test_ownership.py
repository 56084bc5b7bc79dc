# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Who owns what in the kernel: objects of an operator on every path.

A table of objects that look like ours, and each path that an agent takes in
its life.  The lab tier runs the same with a VRF (lab.test_ownership_vrf).
"""

import dataclasses
import queue
import re
from unittest import mock

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import notices
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.privileged.network import netlink
from ovn_network_agent.tests.functional.engine import whole
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.watches import kernel

STOPPED = model.Phase.STOPPED

# What an operator has, in the same places and with the same numbers as ours.
LINKS = (
    'link add veth-default2 type veth peer name veth-provider2',
    'link set veth-default2 alias ovn-network-agent')
ADDRESSES = (
    'address add 198.51.100.250/32 dev br-ex',
    'address add 192.0.2.65/24 dev br-ex',
    'address add 169.254.169.254/24 dev br-ex',
    'address add 169.254.169.254/32 dev br-ex-peer',
    'address add 2001:db8::250/64 dev br-ex')
ROUTES = (
    # In the provider network, on the bridge: as a floating IP's.
    'route add 198.51.100.201/32 dev br-ex proto static',
    'route add 198.51.100.202/32 dev br-ex',
    # Of the very address, at another metric.
    'route add 198.51.100.10/32 dev br-ex proto static metric 50',
    'route add 198.51.100.0/24 dev br-ex proto static metric 60',
    'route add 2001:db8:1::/48 dev br-ex proto static',
    # In our tables.
    'route add 198.51.100.203/32 dev br-ex table 100 proto static',
    'route add 198.51.100.10/32 dev br-ex table 100 proto static metric 50',
    'route add 10.9.0.0/16 dev br-ex table 200 proto static',
    'route add default dev br-ex table 200 proto static metric 50')
RULES = (
    # The same priority and table, another selector or origin.
    'rule add pref 1000 to 198.51.100.0/24 table 100',
    'rule add pref 1000 to 198.51.100.203 table 100 protocol static',
    'rule add pref 1000 to 198.51.100.204 table 100 protocol 0',
    'rule add pref 1000 to 198.51.100.11 table 101',
    'rule add pref 1000 from 198.51.100.10 table 100 protocol 0',
    'rule add pref 1999 iif br-ex table 254',
    'rule add pref 2000 from 203.0.113.0/24 table 200 protocol 0',
    'rule add pref 2000 from 198.51.100.0/24 table 200 protocol 0',
    'rule add pref 2000 from 203.0.113.0/25 table 200 protocol static',
    'rule add pref 2000 from 198.51.100.0/24 table 201',
    'rule add pref 2000 from 198.51.100.0/24 iif lo table 200 protocol 0',
    'rule add pref 2001 from 10.0.0.0/24 iif br-ex blackhole',
    '-6 rule add pref 2000 from 2001:db8::/32 table 200')
NEIGHBOURS = (
    'neighbour add 198.51.100.10 lladdr 02:00:00:00:00:09 dev br-ex '
    'nud permanent',
    'neighbour add 169.254.0.2 lladdr 02:00:00:00:00:09 dev br-ex '
    'nud permanent')
FOREIGN = (*LINKS, *ADDRESSES, *ROUTES, *RULES, *NEIGHBOURS)

# What an agent may have left that nobody wants any more.
ORPHANS = (
    'route add 198.51.100.99/32 dev br-ex proto 44',
    'route add 198.51.100.98/32 dev br-ex-peer proto 44 table 77',
    'route add blackhole 198.51.100.97/32 proto 44 metric 7',
    'rule add pref 2000 from 192.0.2.0/24 table 200 protocol 44',
    'rule add pref 1500 to 198.51.100.99 table 77 protocol 44')
# ip(8) has no word for the origin of an address before version 6.3.
ORPHAN_ADDRESSES = (['br-ex', '169.254.169.253/32'],
                    ['br-ex-peer', '169.254.0.1/30'])

ALPHA = cloud.router(1, ['198.51.100.10', '198.51.100.11'])
BETA = cloud.router(2, ['198.51.100.20'])
elsewhere = cloud.away


def without(router, address):
    """The router without one floating IP."""
    return dataclasses.replace(router, nats=tuple(
        nat for nat in router.nats if nat.external_ip != address))


class Paths:
    """Every path; the mode and the objects are of the subclass."""

    FOREIGN = FOREIGN
    ORPHANS = ORPHANS
    # What a standby for the network of ALPHA has of it.
    PREPARED = frozenset()

    def setUp(self):
        super().setUp()
        for command in self.FOREIGN:
            self.ip(command)
        self.before = self.state()
        self.world = worlds.World()

    def agent(self):
        return whole.Agent(self.conf, self.world)

    def started(self, *routers):
        """An agent that has reached what it wants."""
        agent = self.agent()
        self.settled(agent.run(*routers))
        self.assert_foreign()
        return agent

    def ours(self):
        """What is there beyond what the operator has."""
        return self.state() - self.before

    def assert_foreign(self):
        """That all of the operator's is there."""
        self.assertEqual([], sorted(self.before - self.state()))

    def about(self, address):
        """Lines of ours about an address."""
        return sorted(line for line in self.ours() if address in line)

    # -- the paths --------------------------------------------------------

    def test_start_and_passes(self):
        agent = self.started(ALPHA, BETA)
        ours = self.ours()
        for address in ('198.51.100.10', '198.51.100.11', '198.51.100.20'):
            self.assertNotEqual([], self.about(address))
        self.assertEqual(0, self.settled(agent.run(ALPHA, BETA)).changes)
        self.assertEqual(ours, self.ours())
        self.assert_foreign()

    def test_ours_carry_our_mark(self):
        self.started(ALPHA)
        self.assertNotEqual([], [line for line in self.ours()
                                 if ' proto 44' in line])
        self.assertEqual([], sorted(
            line for line in self.ours() if not re.match(
                # proto 2: what the kernel makes for an address.
                'link: veth-|address: |.* proto (44|2)( |$)', line)))
        made = [a for a in addresses.read_all()
                if a.protocol == ownership.ADDRESS_PROTOCOL]
        self.assertEqual(len(made), len([
            line for line in self.ours() if line.startswith('address: ')]))
        self.assertIn('169.254.169.254/32', [a.address for a in made])

    def test_a_floating_ip_comes_and_another_goes(self):
        """Row FIP-17: in one pass."""
        agent = self.started(without(ALPHA, '198.51.100.11'))
        self.settled(agent.run(without(ALPHA, '198.51.100.10')))
        self.assertEqual([], self.about('198.51.100.10'))
        self.assertNotEqual([], self.about('198.51.100.11'))
        self.assert_foreign()

    def test_standby(self):
        """Trap T55: with no router here all of ours goes, theirs stays.

        Of a candidate that prepares (row FIP-15) what it prepares stays.
        """
        agent = self.agent()
        self.settled(agent.run())
        bare = self.ours()
        here, away = cloud.group(ALPHA), cloud.group(elsewhere(ALPHA))
        for prepare, groups, prepared in (
                (True, (away,), self.PREPARED), (True, (), set()),
                (False, (away,), set())):
            self.conf.set_override('standby_prepare', prepare, 'fip_route')
            self.settled(agent.run(ALPHA, groups=groups and (here,)))
            self.settled(agent.run(elsewhere(ALPHA), groups=groups))
            self.assertEqual(bare | prepared, self.ours())
            self.assert_foreign()
        self.settled(agent.run(groups=(away,), phase=STOPPED))
        self.assert_state(self.before)

    def test_move_away_and_back(self):
        agent = self.started(ALPHA, BETA)
        both = self.ours()
        self.settled(agent.run(elsewhere(ALPHA), BETA))
        for address in ('198.51.100.10', '198.51.100.11', '198.51.100.1/',
                        '198.51.100.1 '):
            self.assertEqual([], self.about(address))
        self.assertNotEqual([], self.about('198.51.100.20'))
        self.assert_foreign()
        self.settled(agent.run(ALPHA, BETA))
        self.assertEqual(both, self.ours())

    def test_stop(self):
        agent = self.started(ALPHA, BETA)
        self.settled(agent.run(ALPHA, BETA, phase=STOPPED))
        self.assert_state(self.before)
        # Once more: what is gone is no error.
        self.settled(agent.run(ALPHA, BETA, phase=STOPPED))
        self.assert_state(self.before)

    def test_restart_after_sigkill(self):
        """Row CLN-05: what is right is adopted, the rest goes."""
        self.started(ALPHA, BETA)
        ours = self.ours()
        self.assertEqual(0, self.settled(
            self.agent().run(ALPHA, BETA)).changes)
        self.assertEqual(ours, self.ours())
        agent = self.started(elsewhere(ALPHA), BETA)
        self.assertEqual([], self.about('198.51.100.10'))
        self.assertNotEqual([], self.about('198.51.100.20'))
        self.settled(agent.run(BETA, phase=STOPPED))
        self.assert_state(self.before)

    def test_stop_after_sigkill_and_before_anything_else(self):
        self.started(ALPHA, BETA)
        self.settled(self.agent().run(phase=STOPPED))
        # Addresses carry their mark too, so nothing has to be known.
        self.assert_state(self.before)

    def test_orphans_of_ours_go(self):
        """Trap T55, row VETH-08: whoever made them, they have our mark."""
        self.abandon()
        self.started(ALPHA)
        gone = self.abandoned & self.state()
        self.assertEqual([], sorted(gone))
        self.agent().run(phase=STOPPED)
        self.assert_state(self.before)

    def abandon(self):
        """Leave what an agent of another time wanted."""
        for command in self.ORPHANS:
            self.ip(command)
        earlier = self.configure()
        earlier.set_override('driver_devices', ['br-ex', 'br-ex-peer'])
        self.fix_limits(earlier)
        self.assertEqual([], netlink.set_addresses(ORPHAN_ADDRESSES))
        self.fix_limits(self.conf)
        self.abandoned = self.ours()
        self.assertEqual(
            len(self.ORPHANS) + len(ORPHAN_ADDRESSES),
            len([line for line in self.abandoned
                 if ' proto 2 ' not in line and
                 not line.endswith(' proto 2')]))

    def test_before_ovn_is_known_nothing_goes(self):
        self.abandon()
        self.agent().run(prune=False)
        self.assertEqual([], sorted(self.abandoned - self.state()))

    def test_each_object_is_made_again(self):
        """Rows VETH-09 and VETH-17: a damage costs one pass."""
        agent = self.started(ALPHA, BETA)
        whole_state = self.state()
        for damage in self.damages():
            with self.subTest(damage):
                self.ip(damage)
                self.assertNotEqual(whole_state, self.state())
                self.settled(agent.run(ALPHA, BETA, full=False,
                                       stale=whole.NAMES))
                self.assert_state(whole_state)

    def damages(self):
        return ('route del 198.51.100.10/32 table 100 proto 44',
                'rule del pref 1000 to 198.51.100.10 table 100 protocol 44',
                'address del 169.254.169.254/32 dev br-ex')


class DefaultVrfTest(Paths, whole.WholeTestCase):
    """Without a VRF: host routes in a table of their own, with rules."""

    def configure(self, vrf_name='', **fip_route):
        return super().configure(vrf_name, route_table_id=100)


class NodeTest(whole.WholeTestCase):
    """The bridge, prepared at the start, and the end of that."""

    def test_start_on_a_bridge_that_is_down(self):
        """Rows PRE-02, PRE-04, PRE-05: up, address and proxy ARP, once."""
        self.ip('link set br-ex down')
        for _repeat in range(2):
            agent = whole.Agent(self.conf)
            # Before OVN is reached.
            self.settled(agent.run(prune=False))
            self.assertIn('UP', self.shown('link show br-ex')[0]['flags'])
            self.assertEqual(['169.254.169.254/32'], [
                f'{a["local"]}/{a["prefixlen"]}' for a in self.shown(
                    '-4 address show dev br-ex')[0]['addr_info']])
            for name, value in (('proxy_arp', '1'), ('forwarding', '1')):
                self.assertEqual(value, self.sysctl(
                    f'net/ipv4/conf/br-ex/{name}'))

    def test_sysctls_stay(self):
        """Row CLN-03: nobody knows what they were for before."""
        agent = whole.Agent(self.conf)
        agent.run(ALPHA)
        self.settled(agent.run(phase=STOPPED))
        self.assertEqual('1', self.sysctl('net/ipv4/conf/br-ex/proxy_arp'))
        self.assertIn('UP', self.shown('link show br-ex')[0]['flags'])

    def test_the_language_of_errors_does_not_matter(self):
        """Trap T57: what is gone is known by its number."""
        self.conf.set_override('route_table_id', 100, 'fip_route')
        self.fix_limits(self.conf)
        before = self.state()
        with mock.patch('os.strerror', return_value='Gibt es nicht'):
            agent = whole.Agent(self.conf)
            self.settled(agent.run(ALPHA))
            for command in ('route flush table 100', 'rule del pref 1000',
                            'address del 169.254.169.254/32 dev br-ex'):
                self.ip(command)
            # It still believes that all of that is there.
            self.settled(agent.run(phase=STOPPED, full=False))
            self.settled(agent.run(phase=STOPPED))
        self.assert_state(before)


class LastAddressTest(whole.WholeTestCase):
    """The kernel removes all routes of a device with its last address."""

    def test_what_goes_with_it_is_made_again(self):
        """The operator's was the last one; the kernel tells of it alone."""
        self.conf.set_override('bridge_ip', '')
        self.conf.set_override('route_table_id', 100, 'fip_route')
        self.ip('address add 192.0.2.65/32 dev br-ex')
        agent = whole.Agent(self.conf)
        self.settled(agent.run(ALPHA))
        before = self.state()
        told = queue.SimpleQueue()
        watching = kernel.LinkWatch(lambda kind, _by: told.put(kind))
        watching.start()
        self.addCleanup(watching.stop)
        self.ip('address del 192.0.2.65/32 dev br-ex')
        kinds = [told.get(timeout=5)]
        while kinds[-1] != kernel.ADDRESS:
            kinds.append(told.get(timeout=5))
        self.assertNotIn(kernel.ROUTE, kinds)
        self.assertNotEqual(before, self.state())
        self.ip('address add 192.0.2.65/32 dev br-ex')
        self.settled(agent.run(ALPHA, full=False, stale={
            notices.kernel(kind) for kind in kinds}))
        self.assert_state(before)

    def _start(self, *commands):
        for command in commands:
            self.ip(command)
        before = self.state()
        agent = whole.Agent(self.conf)
        self.settled(agent.run(ALPHA))
        self.assertIn('169.254.169.254/32', self.ip('address show br-ex'))
        return agent, before

    def test_it_goes_where_nothing_hangs_on_it(self):
        agent, before = self._start()
        self.settled(agent.run(ALPHA, phase=STOPPED))
        self.assert_state(before)

    def test_it_stays_for_the_routes_of_others(self):
        agent, before = self._start(
            'route add 198.51.100.201/32 dev br-ex proto static',
            'route add 203.0.113.0/24 dev br-ex table 77')
        with self.assertLogs('ovn_network_agent.engine.application',
                             'WARNING') as logs:
            self.settled(agent.run(ALPHA, phase=STOPPED))
        self.assertEqual(1, len(logs.output))
        for text in ('169.254.169.254/32 stays', '198.51.100.201/32',
                     '203.0.113.0/24', 'address of your own'):
            self.assertIn(text, logs.output[0])
        self.assertEqual([], sorted(before - self.state()))
        self.assertEqual([], [line for line in self.state() - before
                              if '169.254.169.254' not in line])
        # Another agent takes it over, and removes it when nothing rests
        # on it any more.
        self.ip('route del 198.51.100.201/32')
        self.ip('route del 203.0.113.0/24 table 77')
        agent = whole.Agent(self.conf)
        self.settled(agent.run(ALPHA))
        self.settled(agent.run(ALPHA, phase=STOPPED))
        self.assertNotIn('169.254.169.254', self.ip('address show br-ex'))

    def test_it_goes_where_the_operator_has_an_address(self):
        agent, before = self._start(
            'address add 192.0.2.65/32 dev br-ex',
            'route add 198.51.100.201/32 dev br-ex proto static')
        self.settled(agent.run(ALPHA, phase=STOPPED))
        self.assert_state(before)
