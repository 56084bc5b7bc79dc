# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whole agents and the timers of BFD: a fleet, and a reload."""

import fixtures

from ovn_network_agent.backends.northbound import gateway_priority
from ovn_network_agent.backends.northbound import nb_global
from ovn_network_agent.drivers import gateway_drain
from ovn_network_agent.tests.functional.backends import bfd
from ovn_network_agent.tests.functional.gateways import base as gateways
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import base as services
from ovn_network_agent.tests.functional.service import test_reload

TIMERS = {'ovn__bfd_min_rx': 200, 'ovn__bfd_min_tx': 200, 'ovn__bfd_mult': 3}
REAL = {**services.ServiceTestCase.real,
        'gateway_priority': gateway_priority.GatewayPriorityBackend,
        'bfd_timers': nb_global.BfdTimersBackend}


class FleetTest(bfd.Row, gateways.OrderTestCase):
    """Two whole agents."""

    real = REAL

    def setUp(self):
        super().setUp()
        self.add_row()

    def agents(self, **options):
        return [self.running(gateway_drain__drain_on_shutdown=False,
                             **options),
                self.elsewhere(cloud.OTHER,
                               gateway_drain__drain_on_shutdown=False,
                               **options)]

    def test_without_the_options_nothing_is_written(self):
        before = self.nb.rows('NB_Global')
        self.agents()
        self.assertEqual(before, self.nb.rows('NB_Global'))

    def test_they_are_watched_and_stop(self):
        """A value that is gone comes back, and a foreign one stays."""
        agents = self.agents(**TIMERS)
        self.become(bfd.FAST)
        self.eventually(lambda: self.marks().keys() == bfd.BOTH,
                        self.marks)
        self.set_options({'bfd-min-rx': '200'})
        self.become(bfd.FAST)
        theirs = {**bfd.FAST, 'bfd-mult': '7'}
        self.set_options(theirs)
        for agent in agents:
            self.eventually(
                lambda a=agent: 'bfd-mult is 7' in str(a.status.reasons),
                lambda a=agent: a.status.reasons)
        self.assertEqual(theirs, self.options())
        self.set_options({key: bfd.FAST[key] for key in bfd.FAST
                          if key != 'bfd-mult'})
        self.become(bfd.FAST)
        for agent in agents:
            self.eventually(lambda a=agent: a.status.reasons == (),
                            lambda a=agent: a.status.reasons)
        one, two = agents
        self.stop(one)
        self.assertEqual((bfd.FAST, {bfd.MARK, bfd.REQUEST + bfd.OTHER}),
                         (self.options(), self.marks().keys()))
        self.stop(two)
        self.assertEqual(({}, {}), (self.options(), self.marks()))

    def test_a_chassis_that_is_gone_for_good(self):
        self.nb.transact(ovsdb.update(
            'NB_Global', {}, external_ids=ovsdb.ovsdb_dict({
                **bfd.ALSO_KEPT, bfd.REQUEST + bfd.DEAD: (
                    bfd.TEXT.replace('200', '900'))})))
        self.running(
            times={'jitter': 0.2},
            gateway_drain__stale_chassis_grace_period=1, **TIMERS)
        self.become(bfd.FAST)
        self.assertEqual(bfd.ONE, self.marks().keys())


class ReloadTest(bfd.Row, test_reload.FileTestCase):
    """The options come and go while the agent runs."""

    drivers = {**services.ServiceTestCase.drivers,
               'gateway_drain': gateway_drain.GatewayDrainDriver}
    real = REAL
    text = '[gateway_drain]\ndrain_on_shutdown = false\noverlap = false\n'

    def timers(self, values):
        return self.text + '[ovn]\n' + ''.join(
            f'{option.replace("-", "_")} = {value}\n'
            for option, value in values.items())

    def test_they_come_and_change_and_go(self):
        self.add_row()
        agent = self.running(self.text)
        self.assertEqual({}, self.options())
        for values in (bfd.FAST, bfd.SLOW, bfd.FAST):
            self.write(self.timers(values))
            agent.reset()
            self.become(values)
        self.write(self.text)
        agent.reset()
        self.become({})
        self.assertEqual({}, self.marks())

    def test_half_of_them_is_a_mistake(self):
        self.add_row()
        agent = self.running(self.timers(bfd.FAST))
        self.become(bfd.FAST)
        log = self.useFixture(fixtures.FakeLogger())
        self.write(self.text + '[ovn]\nbfd_min_rx = 100\n')
        agent.reset()
        self.eventually(lambda: 'bfd_min_tx and bfd_mult is not set' in
                        log.output, lambda: log.output)
        self.assertEqual(bfd.FAST, self.options())
