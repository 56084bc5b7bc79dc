# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""SIGKILL at each boundary between the backends of a pass.

The end is that of a run in which nobody died, and traffic that was right is
never lost.
"""

from importlib import metadata
import itertools
import os

import ovn_network_agent
from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.runtime import loader
from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.crash import base
from ovn_network_agent.tests.functional.crash import program
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

# Backends that have nothing to do here, and why, or their test.
IDLE = {'bfd_timers': 'no option [ovn] bfd_* is set',
        'egress': 'no file has egress addresses',
        'egress_nft': 'no machine has an egress address',
        'egress_networks': 'no machine has an egress address',
        'evpn_instance': 'lab.test_kernel_evpn_crash',
        'neighbour': 'lab.test_kernel_evpn_crash',
        'neighbour_proxy': 'lab.test_kernel_evpn_crash',
        'router_advertisement': 'lab.test_kernel_evpn_crash',
        'overlap': 'an overlap needs ovn-controller',
        'stale_route': 'no chassis is gone for good',
        'peering': 'no router has a peer',
        'vni_devices': 'lab.test_kernel_evpn_crash',
        'vni_port': 'lab.test_kernel_evpn_crash'}
# Backends that have work at the start alone.
ONCE = {'link', 'sysctl', 'relay_port'}


@needs.needs(os.geteuid() == 0, 'makes network namespaces')
class BoundaryTest(base.CrashTestCase):

    # The highest priority that somebody else has given to another chassis.
    rank = 100

    def test_the_first_passes(self):
        """Each start gets one backend further than the start before."""
        unit, killed = self.unit(), []
        wanted = self.settled()
        self.assertEqual(0, unit.close(), self.log())
        self.assertEqual([], sorted(self.bare - self.everything()))
        self.give_order(moment=program.AFTER)
        unit = self.unit()
        # A start that is faster than the order would not end by it.
        unit.before_start = lambda: self.give_order(moment=program.AFTER)
        while not self.done_or_dead(unit, len(killed)):
            killed.append(None)
        self.withdraw_order()
        self.assertGreater(len(killed), 8)
        self.becomes(wanted)

    def done_or_dead(self, unit, deaths):
        """Wait for the next death, or until there is nothing to die of."""
        def either():
            return len(unit.ends) > deaths or self.well()
        self.patiently(either, self.log)
        return len(unit.ends) == deaths

    def test_changes(self):
        """The death of the agent, and of each of its daemons."""
        unit = self.unit()
        self.settled()
        self.change(True)
        one = self.after_change(True)
        self.change(False)
        # The rows of a router that has left stay for its next owner.
        zero = self.after_change(False)
        self.change(True)
        self.becomes(one)
        self.change(False)
        self.becomes(zero)
        traffic = self.right()
        there = False
        for order in self.orders():
            there, deaths = not there, len(unit.ends)
            self.give_order(**order)
            self.change(there, order.get('backend') == 'gateway_priority')
            self.patiently(lambda: len(unit.ends) > deaths, lambda: (
                f'nobody died of {order}: {self.log()[-5000:]}'))
            self.becomes(one if there else zero)
        self.lossless(traffic, unit)

    def orders(self):
        """An order for each change there, and for the next change back.

        Half of the changes of a backend are made then, or all if there is but
        one.  The churn kills the daemons at other moments.
        """
        return [*({'backend': name, 'moment': program.WITHIN}
                  for name in self.at_work()),
                *({'victim': context.name, 'moment': moment}
                  for context, moment in zip(
                      privileged.CONTEXTS, itertools.cycle(
                          (program.WITHIN, program.BEFORE))))]

    def at_work(self):
        """Names of the real backends that the changes give work."""
        real = {point.name for point in metadata.entry_points(
            group=loader.BACKENDS)
            if point.value.startswith(ovn_network_agent.__name__ + '.')}
        self.assertLess({*IDLE, *ONCE}, real)
        return sorted(real - {*IDLE, *ONCE})

    def change(self, there, outranked=False):
        """A change that gives the backends at work something to do.

        :param there: True for the way there, False for the way back
        :param outranked: whether the other chassis is first in the order of
            the port that comes, which gives gateway_priority something to do;
            an agent that starts then first waits whether OVN moves the port
        """
        comes, leaves = ((base.GAMMA, 'beta') if there else
                         ('beta', base.GAMMA))
        if outranked:
            self.rank += 10
            self.nb.transact(ovsdb.update(
                'Gateway_Chassis', {'name': f'lrp-{comes}_{base.OTHER}'},
                priority=self.rank))
        self.cloud.move('lrp-' + comes, base.HERE)
        self.cloud.move('lrp-' + leaves, base.OTHER)
        self.take('lrp-' + leaves)
        if there:
            self.cloud.add_nat('alpha', '198.51.100.11')
        else:
            self.cloud.remove_nat('alpha', '198.51.100.11')
        self.rules(more=there)

    def after_change(self, there):
        """All there is after a change; the file of rules is read late."""
        self.patiently(lambda: (base.SECOND in self.ip('address show')) ==
                       there, self.log)
        return self.settled()

    def take(self, lrp):
        """What the next owner of a port does with the default route."""
        key = ownership.EXT_ID_CHASSIS
        self.nb.transact({
            'op': 'mutate', 'table': 'Logical_Router_Static_Route',
            'where': [['output_port', '==', lrp]], 'mutations': [
                ['external_ids', 'delete', ['set', [key]]],
                ['external_ids', 'insert',
                 ['map', [[key, cloud.OTHER_HOSTNAME]]]]]})
