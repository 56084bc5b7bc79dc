# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Deaths at random in a thousand random changes."""

import copy
import os
import random
import signal
import time

from ovn_network_agent import privileged
from ovn_network_agent.tests import budget
from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.crash import base
from ovn_network_agent.tests.functional.crash import program

CHANGES = 1000
# So many addresses the routers have before and after all changes, at most.
ADDRESSES = 20
# So many changes lie between two orders to die, at the most.
APART = 120
# Seconds between two changes: the changes last as long as several starts.
PAUSE = 0.02
MOMENTS = (program.BEFORE, program.WITHIN, program.AFTER)


@needs.needs(os.geteuid() == 0, 'makes network namespaces')
class ChurnTest(base.CrashTestCase):

    def test_a_thousand_changes(self):
        """The variable CHURN_SEED repeats a run."""
        seed = int(os.environ.get('CHURN_SEED') or random.randrange(2 ** 32))
        print(f'{self.id()}: CHURN_SEED={seed:d}')
        self.random = random.Random(seed)
        self.external = {'alpha': set(), base.GAMMA: set()}
        self.chassis = {'lrp-beta': base.HERE, 'lrp-gamma': base.OTHER}
        self.more = False
        unit = self.unit()
        # What a port that leaves has in NB depends on its next owner.
        self.move('lrp-gamma')
        for _number in range(ADDRESSES):
            self.change_address()
        wanted, cloud = self.settled(), copy.deepcopy(self.external)
        traffic = self.right()
        self.churn(unit, budget.examples(CHANGES))
        self.withdraw_order()
        self.restore(cloud)
        self.becomes(wanted)
        self.lossless(traffic, unit)
        self.assertGreater(len(unit.ends), 3)
        self.assertEqual(0, unit.close(), self.log())
        self.assertEqual([], sorted(self.bare - self.state()))

    def restore(self, cloud):
        """Bring OVN and the rules to what they were before the churn.

        :param cloud: value of ``external`` at that time
        """
        for router, addresses in cloud.items():
            for address in addresses ^ self.external[router]:
                self.toggle(router, address)
        for lrp, chassis in self.chassis.items():
            if chassis != base.HERE:
                self.move(lrp)
        if self.more:
            self.change_rules()

    def churn(self, unit, count):
        left = 0
        for _number in range(count):
            if not left:
                left = self.random.randint(APART // 2, APART)
                # One that never came to something to do dies all the same.
                if os.path.exists(self.order):
                    unit.send(signal.SIGKILL)
                self.give_order(moment=self.random.choice(MOMENTS),
                                victim=self.random.choice(
                                    ['agent', 'agent', *(
                                        context.name for context
                                        in privileged.CONTEXTS)]))
            left -= 1
            time.sleep(PAUSE)
            self.random.choices((self.change_address, self.change_port,
                                 self.change_rules), (90, 8, 2))[0]()

    def change_address(self):
        router = self.random.choice(sorted(self.external))
        net = '198.51.100' if router == 'alpha' else '198.18.0'
        self.toggle(router, f'{net}.{self.random.randint(30, 60):d}')

    def toggle(self, router, address):
        if address in self.external[router]:
            self.cloud.remove_nat(router, address)
        else:
            self.cloud.add_nat(router, address)
        self.external[router] ^= {address}

    def change_port(self):
        self.move(self.random.choice(sorted(self.chassis)))

    def move(self, lrp):
        here = self.chassis[lrp] == base.HERE
        self.chassis[lrp] = base.OTHER if here else base.HERE
        self.cloud.move(lrp, self.chassis[lrp])

    def change_rules(self):
        self.more = not self.more
        self.rules(more=self.more)
