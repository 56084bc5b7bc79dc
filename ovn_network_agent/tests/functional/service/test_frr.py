# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The whole service over a real FRR, with real databases."""

import time

from ovn_network_agent import resources
from ovn_network_agent.common import backoff
from ovn_network_agent.tests.functional.frr import agents
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

FIP = '198.51.100.10/32'
# The pauses after an absence of ten minutes.
LONG_PAUSES = {'first': 600.0, 'last': 600.0}


class TestAgent(agents.AnnouncingTestCase):
    """Kernel and switch are a world; FRR and the databases are real."""

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        self.cloud.add_nat('r1', '198.51.100.10')

    def running(self, **options):
        """An agent that has announced the floating IP."""
        made = self.agent(**options)
        base.wait_until(lambda: FIP in self.statics() and self.entries(),
                        'announced', ovsdb.DEADLINE)
        return made

    def statics(self):
        return {line.split()[2] for line in self.frr.running()
                if line.startswith('ip route ')}

    def entries(self):
        return [line for line in self.frr.running()
                if line.startswith('ip prefix-list')]

    def kernel(self):
        return {key[1] for key in self.world.found(resources.KernelRoute)}

    def test_a_filter_restarts_and_the_stop(self):
        """A start takes long, so this is one test."""
        agent = self.running(retries=backoff.Retries(**LONG_PAUSES))
        self._filtered_address_is_in_the_status(agent)
        self._restart_of_staticd()
        self._restart_of_the_holder_of_the_routes()
        self._bgpd_has_lost_its_list()
        self._everything_after_a_long_absence(agent)
        agent.stop()
        self.assertTrue(agent.wait(20))
        self.assertTrue(agent.complete)
        self.assertEqual(([], set(), set()), (
            self.entries(), self.statics(), self.kernel()))

    def _restart_of_staticd(self):
        # Trap T41: the next full pass is ten minutes away.
        self.frr.kill('staticd')
        self.frr.start('staticd')
        base.wait_until(lambda: FIP in self.statics(), 'restored')

    def _restart_of_the_holder_of_the_routes(self):
        """mgmtd since FRR 9, staticd before."""
        self.frr.kill(base.holder())
        if base.holder() == 'mgmtd':
            # staticd has the routes, too.
            self.assertIn(FIP, self.frr.learned())
        self.frr.start(base.holder())
        self.cloud.add_nat('r1', '198.51.100.11')
        wanted = {FIP, '198.51.100.11/32'}
        base.wait_until(lambda: wanted <= self.statics() &
                        self.frr.learned(), 'announced')

    def _bgpd_has_lost_its_list(self):
        # Trap T35: zebra still has it.
        before = self.entries()
        self.frr.restart_bgpd()
        base.wait_until(
            lambda: 'permit 198.51.100.0/24' in self.frr.only(
                'bgpd', 'show ip prefix-list'), 'in bgpd again')
        self.assertEqual(before, self.entries())

    def _everything_after_a_long_absence(self, agent):
        # Trap T41: however long the back-off has become meanwhile.
        self.frr.kill('staticd')
        self.frr.kill('bgpd')
        self.cloud.add_nat('r1', '198.51.100.12')
        base.wait_until(
            lambda: '198.51.100.12/32' in self.kernel(), 'tried')
        base.wait_until(lambda: 'frr_static' in str(
            agent.status.reasons), 'failed')
        self.frr.start('staticd')
        self.frr.start('bgpd', config=base.BGP)
        wanted = {FIP, '198.51.100.12/32'}
        base.wait_until(
            lambda: wanted <= self.statics() and self.entries(), 'restored')
        base.wait_until(lambda: wanted <= self.frr.learned(), 'announced')

    def _filtered_address_is_in_the_status(self, agent):
        base.wait_until(lambda: agent.status.reasons == (),
                        lambda: agent.status.reasons, ovsdb.DEADLINE)
        self.frr.configure('route-map NONE deny 10', 'exit',
                           'router bgp 65001', 'address-family ipv4 unicast',
                           'neighbor 10.0.0.2 route-map NONE out')
        base.wait_until(lambda: not self.frr.learned(), 'filtered')
        self.cloud.add_nat('r1', '198.51.100.13')
        base.wait_until(lambda: '198.51.100.13/32'
                        in ''.join(agent.status.reasons), 'reported')
        self.frr.configure('router bgp 65001', 'address-family ipv4 unicast',
                           'no neighbor 10.0.0.2 route-map NONE out')
        self.frr.configure('no route-map NONE')
        base.wait_until(lambda: FIP in self.frr.learned(), 'announced again')

    def test_stop_while_zebra_is_wedged(self):
        # Trap T44: the stop ends, keeps the way in, leaves no process.
        agent = self.running(shutdown_timeout=4)
        before = self.kernel()
        with self.wedged('zebra'):
            started = time.monotonic()
            agent.stop()
            self.assertTrue(agent.wait(20))
            self.assertLess(time.monotonic() - started, 12)
            self.assertFalse(agent.complete)
            self.assertEqual(before, self.kernel())
