# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which VIP is announced and why: in the status and in the log."""

import dataclasses

import fixtures
from oslotest import base

from ovn_network_agent import resources
from ovn_network_agent.control.reports import report
from ovn_network_agent.control.reports import screen
from ovn_network_agent.engine import outcome as outcomes
from ovn_network_agent.engine import tracking
from ovn_network_agent.forward import vip_state
from ovn_network_agent.model import port_forwards
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.tests.unit import world

RULE = port_forwards.Rule('tcp', 53, 1053, (
    port_forwards.Destination('10.0.0.5'),
    port_forwards.Destination('10.0.0.6')),
    check=port_forwards.HealthCheck('tcp'))
VIP = port_forwards.Vip('192.0.2.53', True, rules=(RULE,))
OTHER = port_forwards.Vip('192.0.2.5', False, rules=(RULE,))
SIX = port_forwards.Vip('2001:db8::53', True, rules=(RULE,))
ADDRESS = resources.VipAddress('loopback1', '192.0.2.53/32')
LINE = resources.PrefixListEntry('ANNOUNCED', '192.0.2.53/32')


def dying(vip, *dead):
    """A VIP some of whose backends are dead."""
    return vip._replace(rules=tuple(
        dataclasses.replace(rule, destinations=tuple(
            dataclasses.replace(b, alive=False, why='timed out')
            if b.address in dead else b for b in rule.destinations))
        for rule in vip.rules))


class StandingTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.conf = world.conf(frr__vrf_name='vrf-x',
                               frr__frr_prefix_list='ANNOUNCED')
        self.tracker = tracking.Tracker()
        self.statuses = vip_state.VipStatuses(self.conf)

    def want(self, *wanted, there=True):
        for resource in wanted:
            self.tracker.want(resource)
            if there:
                self.tracker.found(resource)

    def after(self, *vips, gateway=True, **outcome):
        """(state, reason) of the only, or of all, VIPs after a pass."""
        self.statuses.after_pass(
            port_forwards.Forwards(vips, gateway),
            outcomes.Outcome(applied=tuple(
                ('created', resource) for resource in self.tracker.actual()),
                **outcome), self.tracker)
        found = [(s.state.value, s.reason) for s in self.statuses.now]
        return found[0] if len(found) == 1 else found

    def test_announced_by_its_address(self):
        """PF-26: without its line in the prefix list nothing leaves."""
        six = (resources.VipAddress('loopback1', '2001:db8::53/128'),
               resources.PrefixListEntry('ANNOUNCED', '2001:db8::53/128',
                                         128, 128))
        for vip, address, line in (VIP, ADDRESS, LINE), (SIX, *six):
            self.want(address, line, there=False)
            self.assertEqual(
                ('refused', 'vip_address: no device loopback1'),
                self.after(vip, failures={
                    address.ref: 'no device loopback1'}))
            self.want(address)
            self.assertEqual(('waiting', ''), self.after(vip))
            self.assertEqual(
                ('refused', 'prefix_list_entry: vtysh: no'),
                self.after(vip, failures={line.ref: 'vtysh: no'}))
            self.want(line)
            self.assertEqual(('announced', ''), self.after(vip))

    def test_announced_by_a_route(self):
        for resource in (
                resources.Announcement('vrf-x', '192.0.2.5/32', '169.254.0.1'),
                resources.AnnouncedRoute(10, '192.0.2.5/32', 'veth-provider',
                                         '169.254.0.1')):
            self.want(resource)
            self.assertEqual(('announced', ''), self.after(OTHER))
            self.tracker.unwant(resource.ref)

    def test_an_address_that_was_there(self):
        """Unless a router has the address."""
        there = OTHER._replace(present=True)
        self.assertEqual(('announced', 'its address was there'),
                         self.after(there))
        # What announces that is not about the VIP.
        self.want(resources.Announcement('vrf-x', '192.0.2.5/32',
                                         '169.254.0.1'))
        self.assertEqual(('refused', 'router r1 has this address'), self.after(
            OTHER._replace(taken='router r1')))

    def test_nobody_announces_it(self):
        self.assertEqual(('refused', 'nothing announces it'),
                         self.after(OTHER))
        why = 'VIP 192.0.2.5: set manage_vip'
        self.assertEqual(('refused', why), self.after(
            OTHER, left_out=(
                resources.Problem('VIP 192.0.2.53: no',
                                  addresses=('192.0.2.53',)),
                resources.Problem(why, addresses=(OTHER.address,)))))
        # The address is not all that there has to be.
        self.assertEqual(('refused', why), self.after(
            OTHER._replace(present=True), left_out=(
                resources.Problem(why, addresses=(OTHER.address,)),)))

    def test_no_backend_is_alive(self):
        """A VIP is withdrawn when all are dead, not before."""
        self.want(ADDRESS, LINE)
        self.assertEqual('announced', self.after(dying(VIP, '10.0.0.5'))[0])
        self.assertEqual(('down', 'none of its destinations is alive'),
                         self.after(dying(VIP, '10.0.0.5', '10.0.0.6')))

    def test_without_ovn_only_managed_ones_are_announced(self):
        for name in ('ovn_nb_remote', 'ovn_sb_remote'):
            self.conf.set_override(name, [], 'ovn')
        state, reason = self.after(OTHER, gateway=None)
        self.assertEqual('dormant', state)
        self.assertIn('manage_vip: true', reason)
        self.want(ADDRESS)
        self.assertEqual(('announced', ''), self.after(VIP, gateway=None))

    def test_dormant(self):
        """Row A-08."""
        self.conf.set_override('vip_announce', 'with-gateway', 'port_forward')
        self.want(ADDRESS, LINE)
        self.assertEqual('announced', self.after(VIP)[0])
        self.assertEqual(('dormant', 'no router has its gateway here'),
                         self.after(VIP, gateway=False))
        self.assertEqual(('dormant', 'OVN has not been seen yet'),
                         self.after(VIP, gateway=None))
        self.conf.set_override('vip_announce', 'always', 'port_forward')
        self.assertEqual('announced', self.after(VIP, gateway=False)[0])

    def test_each_change_is_said_once(self):
        """Trap T62: one line for all, and none as long as it is so."""
        self.conf.set_override('vip_announce', 'with-gateway', 'port_forward')
        many = [VIP._replace(address=f'192.0.2.{n}')
                for n in range(1, 31)]
        for _pass in range(5):
            self.after(*many, gateway=False)
        self.assertEqual(1, self.log.output.count('VIP dormant: 192.0.2.1, '))
        self.assertIn('and 20 more (no router has its gateway here)',
                      self.log.output)
        self.assertEqual(1, self.log.output.count('\n'))
        for vip in many:
            self.want(resources.VipAddress('loopback1', vip.address + '/32'))
        for _pass in range(5):
            self.after(*many)
        self.assertEqual(1, self.log.output.count('VIP announced: '))
        self.assertEqual(2, self.log.output.count('\n'))

    def test_what_is_under_way_is_not_said(self):
        """One that was gone is said again."""
        self.want(ADDRESS)
        self.after(VIP)
        self.want(LINE, there=False)
        self.after(VIP)
        self.want(LINE)
        self.after(VIP)
        self.assertEqual(1, self.log.output.count('\n'))
        self.after()
        self.after(VIP)
        self.assertEqual(2, self.log.output.count('VIP announced'))

    def test_nothing_new_costs_nothing(self):
        self.want(ADDRESS, LINE)
        self.after(VIP)
        before = self.statuses.now
        other = resources.Announcement('vrf-x', '198.51.100.10/32',
                                       '169.254.0.1')
        for applied in ((), (('created', other),)):
            self.statuses.after_pass(
                port_forwards.Forwards((VIP,), True),
                outcomes.Outcome(applied=applied), self.tracker)
            self.assertIs(before, self.statuses.now)
        self.tracker.removed(ADDRESS.ref)
        self.statuses.after_pass(
            port_forwards.Forwards((VIP,), True),
            outcomes.Outcome(applied=(('deleted', ADDRESS),)), self.tracker)
        self.assertIs(vip_state.State.WAITING, self.statuses.now[0].state)
        self.statuses.after_pass(None, outcomes.Outcome(), self.tracker)

    def test_the_status(self):
        self.want(ADDRESS, LINE)
        self.after(dying(VIP, '10.0.0.6'), OTHER)
        found = report.build(None, None, {}, directory.Directory(), 'ovn',
                             self.statuses.now)
        vip, other = found['vips']
        self.assertEqual(('192.0.2.53', 'announced', ''), (
            vip['address'], vip['state'], vip['reason']))
        self.assertEqual([{
            'proto': 'tcp', 'port': 53, 'dest_port': 1053,
            'masquerade': False, 'checked': True, 'backends': [
                {'address': '10.0.0.5', 'weight': 1, 'alive': True, 'why': ''},
                {'address': '10.0.0.6', 'weight': 1, 'alive': False,
                 'why': 'timed out'}]}],
            vip['rules'])
        said = screen.of_status(found)
        self.assertIn('vip 192.0.2.53: announced\n'
                      '  tcp 53: 2 destinations, port 1053, dead: 10.0.0.6 '
                      '(timed out)\n'
                      'vip 192.0.2.5: refused (nothing announces it)\n'
                      '  tcp 53: 2 destinations, port 1053, all alive\n', said)
