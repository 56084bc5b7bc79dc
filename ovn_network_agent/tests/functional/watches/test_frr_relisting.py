# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Lines of the prefix list that bgpd of FRR 8.4 forgets in its route maps."""

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.frr import frr_prefix_list
from ovn_network_agent.backends.frr import frr_static
from ovn_network_agent.common import trigger
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import tracking
from ovn_network_agent.frr import output
from ovn_network_agent.frr import prefix_list_lines
from ovn_network_agent.privileged.routing import prefix_lists
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.watches.frr import frr_relisting
from ovn_network_agent.watches.frr import frr_verification

NETWORK = '198.51.100.0/24'
ADDRESS = '198.51.100.10/32'
NUMBERS = ownership.prefix_list_numbers(NETWORK)
# Of the operator, who announces the network as well.
HIS = f'ip prefix-list {base.LIST} seq 5 permit {NETWORK}'
# bgpd looks at its route maps one second after a change, not after five.
_MAPS = f'''
bgp route-map delay-timer 1
{{}}
route-map OUT permit 10
 match ip address prefix-list {base.LIST}
'''
_FILTER = f'neighbor 10.0.0.2 prefix-list {base.LIST} out'


class Outbound(base.Frr):
    """The neighbours have a route map."""

    bgp = _MAPS.format(base.BGP.replace(
        _FILTER, 'neighbor 10.0.0.2 route-map OUT out'))


class Redistribution(base.Frr):
    """The route map is that of the redistribution."""

    bgp = _MAPS.format(base.BGP.replace(_FILTER, '').replace(
        'redistribute static', 'redistribute static route-map OUT'))


class RelistingTestCase(base.FrrTestCase):

    def setUp(self):
        super().setUp()
        self.clock = 1000.0
        self.trigger = trigger.Trigger(0)
        self.lists = frr_prefix_list.PrefixListBackend(self.conf)
        self.made = frr_verification.Verification(
            self.conf, lambda: self.clock, self.trigger)

    def announce(self):
        """Announce the address; the neighbour learns it."""
        # The route of the test before may still be on its way out.
        base.wait_until(lambda: not self.frr.learned(), 'forgotten')
        route = resources.Announcement('', ADDRESS, base.BRIDGE)
        for backend, resource in (
                (self.lists, resources.PrefixListEntry(base.LIST, NETWORK)),
                (frr_static.StaticBackend(self.conf), route)):
            self.assertEqual({}, backend.apply(
                backends.Delta(create=(resource,))))
        self.made.after_pass(outcome.Outcome(
            applied=(('created', route),)), tracking.Tracker(), False)
        base.wait_until(lambda: self.frr.learned() == {ADDRESS}, 'learned')

    def look(self, seconds=frr_relisting.TIMEOUT):
        self.clock += seconds
        self.made.look(dict(self.made._wanted))
        return self.made.reasons

    def number(self):
        """The number of the agent's line in bgpd, None without it."""
        return {prefix: sequence for sequence, _action, prefix, ge, _le
                in prefix_lists.read(base.LIST)['BGP'] if ge}.get(NETWORK)


class ForgottenCases:
    """The trap itself; FRR is that of the class."""

    def test_written_again(self):
        """Trap T35: bgpd shows a line that it has lost."""
        self.announce()
        self.frr.configure(HIS)
        self.frr.configure('no ' + HIS)
        base.wait_until(lambda: not self.frr.learned(), 'kept back')
        # Nothing can be read from the list.
        self.assertEqual(NUMBERS[0], self.number())
        self.look()
        self.look()
        self.assertEqual(NUMBERS[0], self.number())
        self.assertIn(ADDRESS, self.made.reasons[0])
        with self.assertLogs(frr_relisting.__name__) as logs:
            self.look()
        self.assertIn(f'the number {NUMBERS[1]} in place of {NUMBERS[0]}',
                      logs.output[0])
        self.assertIn('frr_prefix_list',
                      worlds.doubted(self.trigger.wait(0)))
        self.assertEqual(NUMBERS[1], self.number())
        base.wait_until(lambda: self.frr.learned() == {ADDRESS}, 'again')
        base.wait_until(lambda: not self.look(), 'no complaint')
        # The line is the agent's as before.
        entry = resources.PrefixListEntry(base.LIST, NETWORK)
        self.assertEqual([entry], self.lists.read(frozenset()))


class OutboundTest(ForgottenCases, RelistingTestCase):

    make = Outbound


class RedistributionTest(ForgottenCases, RelistingTestCase):

    make = Redistribution


class OtherFaultsTest(RelistingTestCase):
    """bgpd obeys the list."""

    def version(self):
        return self.frr.version(ADDRESS)

    def test_nothing_is_withdrawn(self):
        """Trap T35: a line that bgpd obeys is written again."""
        self.announce()
        before = base.wait_until(self.version, 'in use')
        for _attempt in range(3):
            (renewed,), said = prefix_lists.renew(base.LIST, [ADDRESS])
            self.assertEqual(NETWORK, renewed[0])
            self.assertEqual('', said)
        # What comes after all that has arrived, too.
        self.frr.configure(f'ip route 198.51.100.11/32 {base.BRIDGE}')
        base.wait_until(lambda: len(self.frr.learned()) == 2, 'learned')
        self.assertEqual(before, self.version())
        # Without the entry it would have been withdrawn.
        entry = resources.PrefixListEntry(base.LIST, NETWORK)
        self.lists.apply(backends.Delta(delete=(entry,)))
        base.wait_until(lambda: not self.frr.learned(), 'withdrawn')
        self.lists.apply(backends.Delta(create=(entry,)))
        base.wait_until(lambda: len(self.frr.learned()) == 2, 'learned')
        self.assertNotEqual(before, self.version())

    def test_nothing_is_withdrawn_between_two_lines(self):
        """bgpd has time for its routes after each line."""
        self.announce()
        before = base.wait_until(self.version, 'in use')
        copies = {daemon: [output.Entry(*entry) for entry in entries]
                  for daemon, entries in prefix_lists.read(base.LIST).items()}
        _renewed, configuration = prefix_list_lines.renewal(
            base.LIST, {NETWORK: NUMBERS[0]}, copies)
        self.assertEqual(6, len(configuration))
        for other, line in enumerate(configuration, 11):
            self.frr.configure(line)
            # What comes after has arrived, too.
            self.frr.configure(
                f'ip route 198.51.100.{other}/32 {base.BRIDGE}')
            base.wait_until(lambda: f'198.51.100.{other}/32' in
                            self.frr.learned(), 'learned')
            self.assertEqual(before, self.version(), line)
        self.assertEqual(NUMBERS[1], self.number())

    def test_another_filter_once(self):
        self.announce()
        other = ('ip prefix-list OTHER seq 5 deny any', 'router bgp 65001',
                 'address-family ipv4 unicast',
                 'neighbor 10.0.0.2 prefix-list OTHER out')
        self.frr.configure(*other)
        self.addCleanup(self.frr.restart_bgpd)
        base.wait_until(lambda: not self.frr.learned(), 'kept back')
        numbers, said = [], []
        for _time in range(6):
            said.append(ADDRESS in ''.join(self.look()))
            numbers.append(self.number())
        self.assertEqual([NUMBERS[0]] * 2 + [NUMBERS[1]] * 4, numbers)
        # The complaint comes when the patience is over, and stays.
        self.assertEqual([False] + [True] * 5, said)

    def test_a_deny_of_the_operator(self):
        self.announce()
        self.frr.configure(
            f'ip prefix-list {base.LIST} seq 7 deny {ADDRESS}')
        base.wait_until(lambda: not self.frr.learned(), 'kept back')
        for _time in range(4):
            self.look()
        self.assertIn('advertised to no neighbour', self.made.reasons[0])
        self.assertEqual(NUMBERS[0], self.number())

    def test_an_entry_of_the_operator(self):
        line = f'seq 5 permit {NETWORK} ge 32 le 32'
        self.frr.configure(f'ip prefix-list {base.LIST} {line}')
        self.assertEqual([[], ''], prefix_lists.renew(base.LIST, [ADDRESS]))

    def test_no_number_is_left(self):
        self.announce()
        for last, number in enumerate(NUMBERS[1:], 1):
            self.frr.configure(f'ip prefix-list {base.LIST} seq {number} '
                               f'permit 192.0.2.{last}/32')
        self.assertEqual([[], ''], prefix_lists.renew(base.LIST, [ADDRESS]))
        self.assertEqual({ADDRESS}, self.frr.learned())
