# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What relays the packets of ports that leave, and who answers for what."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.drivers import base

FIP = '198.51.100.10'
RELAYS = (model.Relay('br-ex', '192.0.2.2', 9),
          model.Relay('br-ex', '192.0.2.9', 11))
NODE, only = cloud.node(relays=RELAYS), base.only
LEFT = cloud.router(1, fips=(FIP, '2001:db8::10'), ports=(cloud.port(
    1, chassis=cloud.OTHER, local=False, relay=9,
    handover=model.Handover.ANNOUNCE),))


def group(owner=cloud.OTHER, gone=False, **values):
    return model.GatewayGroup(
        'Gateway_Chassis', 'key', 'lrp-1', (
            model.Candidate(cloud.CHASSIS, 1, True, '192.0.2.1', 'geneve'),
            model.Candidate(cloud.OTHER, 2, True, '192.0.2.2', 'geneve'),
            *[model.Candidate('gone', 2, False)][:gone]),
        (model.GroupPort('cr-lrp-1', owner, 'lrp-1', ('198.51.100.1/24',),
                         cloud.segment(**values)),))


class RelayTest(base.DriverTestCase):

    name = 'gateway_drain'

    def leaving(self, router):
        return [each for each in self.wanted(router, name='fip_route')
                if each.kind == resources.Neighbour.kind or
                each.kind == resources.Flow.kind and
                each.cookie == ownership.COOKIE_RELAY]

    def flow(self, dst, mac, output, in_port=resources.LOCAL):
        return resources.Flow('br-ex', ownership.COOKIE_RELAY,
                              ownership.PRIORITY_RELAY, in_port, 4, dst=dst,
                              set_dst=mac, output=output)

    def test_what_has_left_goes_to_both_sides(self):
        """IPv4 only: nothing else is announced.

        The relay has it first: where OVN still has the port, NAT of the
        datapath changes the packet for whoever is behind.
        """
        mac = 'fa:16:3e:00:00:01'
        self.assertEqual(
            [self.flow(FIP + '/32', mac, 'ports:9,3'),
             resources.Neighbour('br-ex', FIP, '', mac)],
            [r for r in self.leaving(LEFT) if FIP in str(r)])
        self.assertEqual({FIP, '198.51.100.1'}, {
            r.dst for r in only(resources.Neighbour, self.leaving(LEFT))})

    def test_what_is_about_to_leave_keeps_its_neighbours(self):
        """OVN here still answers, and would not be asked any more."""
        here = cloud.router(1, fips=(FIP,), ports=(cloud.port(1, relay=9),))
        wanted = self.leaving(here)
        self.assertEqual([], only(resources.Neighbour, wanted))
        self.assertEqual(2, len(only(resources.Flow, wanted)))

    def test_without_ovn_here_to_the_other_side_alone(self):
        """ovn-controller has ended, and taken its patch port along."""
        port = LEFT.ports[0]._replace(segment=cloud.segment(patch_port=0))
        outputs = {r.output for r in only(resources.Flow, self.leaving(
            dataclasses.replace(LEFT, ports=(port,))))}
        self.assertEqual({'ports:9'}, outputs)

    def test_nothing_without_a_relay(self):
        for router in (cloud.router(1, fips=(FIP,)), dataclasses.replace(
                LEFT, ports=(LEFT.ports[0]._replace(relay=0),))):
            self.assertEqual([], self.leaving(router))

    def test_a_port_to_every_live_candidate(self):
        self.assertEqual(
            [resources.RelayPort('br-ex', 'ona-c0000202', '192.0.2.2',
                                 'geneve')],
            self.of(resources.RelayPort, group()))

    def fleet(self, *rows, owner='c0'):
        """A group of several candidates.

        :param rows: (priority, priority before the drain) of c0, c1...
        """
        return model.GatewayGroup(
            'Gateway_Chassis', 'key', 'lrp-1', tuple(
                model.Candidate(f'c{n}', priority, True, f'192.0.2.{n + 1}',
                                'geneve', earlier=earlier)
                for n, (priority, earlier) in enumerate(rows)),
            (model.GroupPort('cr-lrp-1', owner, 'lrp-1',
                             ('198.51.100.1/24',), cloud.segment()),))

    def pairs(self, one, count):
        """Both ends of all relays of a group, a set of frozensets."""
        by_address = {c.address: c.chassis for c in one.candidates}
        ends = [(c.chassis, by_address[r.remote]) for c in one.candidates
                for r in self.of(
                    resources.RelayPort, one, cloud.node(chassis=c.chassis),
                    gateway_drain__relay_candidates=count)]
        # A relay without its other end would never answer.
        self.assertEqual(set(ends), {(b, a) for a, b in ends})
        return {frozenset(pair) for pair in ends}

    def among(self, *numbers):
        return {frozenset((f'c{a}', f'c{b}'))
                for a in numbers for b in numbers if a < b}

    def test_relays_among_the_first_candidates(self):
        """Row DRN-28; by default, of all candidates of Neutron."""
        default = world.conf().gateway_drain.relay_candidates
        one = self.fleet((5, 0), (4, 0), (3, 0), (2, 0), (1, 0), (1, 0))
        # Of equal priorities, the last name is before the others.
        for count, first in ((2, (0, 1)), (3, (0, 1, 2)),
                             (default, (0, 1, 2, 3, 5))):
            self.assertEqual(self.among(*first), self.pairs(one, count))

    def test_a_drain_changes_no_relay(self):
        before = self.pairs(self.fleet((5, 0), (4, 0), (3, 0), (2, 0)), 3)
        for drained in (
                self.fleet((0, 5), (4, 0), (3, 0), (2, 0)),
                self.fleet((0, 5), (5, 0), (3, 0), (2, 0), owner='c1'),
                self.fleet((5, 0), (4, 0), (0, 3), (2, 0))):
            self.assertEqual(before, self.pairs(drained, 3))

    def test_the_owner_has_a_relay_to_a_taker(self):
        """Although the first candidates are drained, or others lead."""
        self.assertIn(frozenset(('c2', 'c3')), self.pairs(
            self.fleet((0, 5), (0, 4), (3, 0), (2, 0), owner='c2'), 2))
        self.assertEqual(self.among(0, 1, 3), self.pairs(
            self.fleet((5, 0), (4, 0), (3, 0), (2, 0), owner='c3'), 2))

    def test_what_arrives_goes_to_ovn(self):
        """From candidates of the group, for its network, on any side.

        Without a patch port, or with another bridge, there is no flow.
        """
        for values, flows in (
                *(({'owner': owner},
                   [self.flow('198.51.100.0/24', None, 'ports:3', in_port=9)])
                  for owner in (cloud.OTHER, cloud.CHASSIS, '')),
                ({'patch_port': 0}, []), ({'bridge': 'br-other'}, [])):
            self.assertEqual(flows, self.of(
                resources.Flow, group(**values), NODE))

    def test_the_relays_of_a_chassis_that_sb_lacks_stay(self):
        """Its own ovn-controller has ended, and its agent still relays."""
        for owner in ('', cloud.OTHER):
            one = group(owner=owner)
            own = one.candidates[0]._replace(known=False, address='')
            one = one._replace(candidates=(own, *one.candidates[1:]))
            self.assertEqual(['192.0.2.2'], [
                port.remote for port in self.of(
                    resources.RelayPort, one, NODE)])

    def test_the_relay_of_one_whose_chassis_has_gone_stays(self):
        """Its ovn-controller has ended, and its agent still relays to here.

        SB does not say any more which relay that is.  At the end it goes.
        """
        gone = group(gone=True)
        self.assertEqual(
            {resources.Ref(resources.RelayPort.kind,
                           ('br-ex', 'ona-c0000209'))},
            {r.of for r in self.of(resources.Keep, gone, NODE)})
        self.assertEqual({9, 11}, {
            r.in_port for r in self.of(resources.Flow, gone, NODE)})
        for one, node in ((group(), NODE), (gone, NODE._replace(
                phase=model.Phase.STOPPED))):
            self.assertEqual([], self.of(resources.Keep, one, node))

    def test_relays_are_optional(self):
        self.assertLessEqual(
            {*self.kinds(group(), NODE, gateway_drain__relay=False)},
            {resources.GatewayPriority.kind})

    def test_what_has_left_stays_announced(self):
        """Rows in OVN are the new owner's; hairpins would be dropped.

        Without OVN here it does, too.  Withdrawn, it is forwarded for a
        moment.
        """
        for values, announced, lines, cookies in (
                ({}, {FIP + '/32', '198.51.100.1/32'}, 1,
                 {ownership.COOKIE_MAC_TWEAK}),
                ({'segment': cloud.segment(patch_port=0)},
                 {FIP + '/32', '198.51.100.1/32'}, 1, set()),
                ({'handover': model.Handover.FORWARD}, set(), 0,
                 {ownership.COOKIE_MAC_TWEAK})):
            wanted = self.wanted(dataclasses.replace(LEFT, ports=(
                LEFT.ports[0]._replace(**values),)), name='fip_route')
            self.assertEqual(announced, {
                r.prefix for r in only(resources.Announcement, wanted)})
            self.assertEqual(2, len(only(resources.KernelRoute, wanted)))
            self.assertEqual(lines, len(only(resources.PrefixListEntry,
                                             wanted)))
            self.assertEqual(cookies, {
                f.cookie for f in only(resources.Flow, wanted)
                if f.cookie != ownership.COOKIE_RELAY})
            self.assertEqual([], only(resources.DefaultRoute, wanted))

    def test_a_standby_prepares_the_way_out_alone(self):
        """It attracts nothing: no route, no announcement, no hairpin."""
        wanted = [each for name in ('fip_route', 'veth_leak')
                  for each in self.wanted(group(), name=name)]
        self.assertEqual({ownership.COOKIE_MAC_TWEAK}, {
            f.cookie for f in only(resources.Flow, wanted)})
        # No rule for what comes in: it would also decide the kernel's check
        # of the sources of what goes out.
        self.assertEqual({('198.51.100.0/24', None, None),
                          ('198.51.100.0/24', None, 'br-ex'),
                          (None, '198.51.100.0/24', 'br-ex')}, {
            (r.src, r.dst, r.iif) for r in only(resources.Rule, wanted)})
        self.assertEqual({'flow', 'rule', 'prefix_list_entry'},
                         {r.kind for r in wanted})

    def test_preparing_is_optional(self):
        for name in ('fip_route', 'veth_leak'):
            self.assertEqual([], self.wanted(
                group(), name=name, fip_route__standby_prepare=False))
