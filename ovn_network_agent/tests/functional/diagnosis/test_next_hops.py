# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Doctor and a real FRR whose session over IPv6 carries routes of IPv4."""

from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.tests.functional.diagnosis import base as doctor
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.frr import extended
from ovn_network_agent.tests.functional.frr import unnumbered

ANEW = 60
CHECK = 'bgp-next-hops'
NEXT_HOP = '10.0.0.1'


def _without(config):
    """A configuration of bgpd without the capability."""
    return ''.join(line for line in config.splitlines(keepends=True)
                   if 'capability extended-nexthop' not in line)


class OursLacks(extended.Extended):
    """This side lacks the line."""

    bgp = _without(extended.Extended.bgp)


class TheirsLacks(extended.Extended):
    """The neighbour lacks the line."""

    neighbour_bgp = _without(extended.Extended.neighbour_bgp)


class SessionTestCase(doctor.Looks, base.FrrTestCase):
    """One pair of bgpd for each class.

    bgpd waits longer after each end of a session, so no class ends sessions of
    another test.
    """

    make = extended.Extended

    def setUp(self):
        super().setUp()
        self.conf = self.of_frr_alone(base.BRIDGE)
        self.in_this_process()
        self.enter_namespace()
        self.frr.wait_for_session()

    def in_a_session(self, offered, taken, verdict):
        """The evidence in a session with these capabilities.

        :param offered: whether this side offers extended next hops
        :param taken: whether the neighbour offers them
        """
        base.wait_until(
            lambda: [(one.offered, one.taken) for one
                     in frr.read_next_hops('')] == [(offered, taken)],
            lambda: frr.read_next_hops(''), ANEW)
        return self.looked(CHECK, verdict)


class OursLacksTest(SessionTestCase):

    make = OursLacks

    def test_this_side_lacks_the_line_and_the_advice_adds_it(self):
        address = f'{NEXT_HOP}/24', 'dev', unnumbered.UPLINK
        self.frr.ip('address', 'add', *address)
        # The neighbour reaches this next hop without the capability.
        self.assertIn(f'the next hop {NEXT_HOP}', self.in_a_session(
            False, True, doctor.OK))
        self.frr.ip('address', 'del', *address)
        said = self.in_a_session(False, True, doctor.BROKEN)
        self.assertIn(f'{extended.THEIRS} gets the IPv4 routes', said)
        self.assertIn(f'the next hop {NEXT_HOP}, which no device', said)
        line = doctor.command(self.conf, CHECK, 'neighbor ')
        self.assertEqual(extended.CAPABILITY, line)
        self.addCleanup(self.frr.restart_bgpd)
        self.frr.configure('router bgp 65001', line)
        self.assertIn(f'{extended.THEIRS} gets next hops of IPv6',
                      self.in_a_session(True, True, doctor.OK))


class TheirsLacksTest(SessionTestCase):

    make = TheirsLacks

    def test_the_neighbour_lacks_the_line(self):
        self.in_a_session(True, False, doctor.BROKEN)
        found, = doctor.findings(self.conf, CHECK)
        self.assertIn('add the same line', found.remedy)


class UnnumberedTest(doctor.Looks, base.FrrTestCase):

    make = unnumbered.Unnumbered

    def test_the_capability_comes_without_a_line(self):
        self.conf = self.of_frr_alone(base.BRIDGE)
        self.in_this_process()
        self.frr.wait_for_session()
        self.assertIn('next hops of IPv6', self.looked(CHECK, doctor.OK))
