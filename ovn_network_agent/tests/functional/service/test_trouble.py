# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Databases, backends and drivers that fail while the service runs."""

import time

import fixtures

from ovn_network_agent import resources
from ovn_network_agent.common import backoff
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.service import base as services

HERE = services.HERE


class TroubleTest(services.TwoRoutersTestCase):

    def test_a_northbound_that_hangs_delays_nothing_else(self):
        """Trap T31: slow writes to NB do not hold up an announcement."""
        self.running(ovn__transaction_timeout=6)
        self.nb.pause()
        # It has to write, and gets no answer; it waits, and waits again.
        started = time.monotonic()
        for chassis, announced in ((HERE, True), (cloud.OTHER, False),
                                   (HERE, True), (cloud.OTHER, False)):
            moved = time.monotonic()
            self.cloud.move('lrp-r2', chassis)
            self.eventually(
                lambda wanted=announced: (
                    '203.0.113.1/32' in self.announced()) == wanted,
                'the other planes follow')
            # Held up, it would be for as long as a transaction may take.
            self.assertLess(time.monotonic() - moved, 5)
        self.cloud.move('lrp-r2', HERE)
        self.assertLess(time.monotonic() - started, 18)
        self.nb.resume()
        self.eventually(lambda: self.routes() == [cloud.HOSTNAME] * 2,
                        self.routes)

    def test_a_stop_while_northbound_hangs_is_bounded(self):
        agent = self.running(shutdown_timeout=4)
        self.nb.pause()
        started = time.monotonic()
        self.stop(agent)
        self.assertFalse(agent.complete)
        self.assertEqual(set(), self.announced())
        agent.close()
        self.assertLess(time.monotonic() - started, 10)

    def test_a_stop_waits_for_no_northbound_that_never_was(self):
        """With a wrong address, there is nothing to wait for."""
        self.nb.kill()
        agent = self.agent(shutdown_timeout=60)
        self.eventually(lambda: any('northbound: OVN_Northbound is not loaded'
                                    in reason for reason in
                                    agent.status.reasons or ()),
                        'it has looked')
        log = self.useFixture(fixtures.FakeLogger())
        started = time.monotonic()
        self.stop(agent)
        self.assertLess(time.monotonic() - started, 5)
        self.assertFalse(agent.complete)
        self.assertIn('Clean-up is not complete: northbound, stale_route: '
                      'OVN_Northbound',
                      log.output)

    def test_a_second_request_cuts_the_stop_short(self):
        agent = self.running(shutdown_timeout=60)
        self.nb.pause()
        agent.stop()
        self.eventually(lambda: not self.announced(), 'withdrawn')
        agent.stop()
        self.assertTrue(agent.wait(10))
        self.assertFalse(agent.complete)
        self.nb.resume()

    def test_what_waited_for_northbound_follows_at_once(self):
        # The pauses grow to a minute, and an outage may be long.
        agent = self.running(retries=backoff.Retries(first=60.0))
        self.nb.kill()
        self.eventually(lambda: not agent._databases['nb'].connected, 'lost')
        self.cloud.move('lrp-r2', HERE)
        self.eventually(lambda: any('northbound' in reason for reason
                                    in agent.status.reasons), 'it failed')
        self.nb.start()
        self.eventually(lambda: self.routes() == [cloud.HOSTNAME] * 2,
                        self.routes)
        self.eventually(lambda: not agent.status.reasons, 'all is well')

    def test_any_backend_may_fail_and_heals(self):
        """The others go on; it is said which one, and that it is over."""
        agent = self.running()
        for number, name in enumerate(('rule', 'route', 'flow', 'frr_static',
                                       'frr_prefix_list')):
            self.world.down.add(name)
            agent.trigger.fire('test', stale=(name,))
            self.eventually(lambda n=name: any(
                n in reason for reason in agent.status.reasons), name)
            self.cloud.add_router(f'n{number}', chassis=HERE, networks=[
                f'192.0.{number}.1/24'])
            address = f'192.0.{number}.1/32'
            # The planes that do not depend on it follow.
            self.eventually(
                lambda n=number: len(self.routes()) == n + 2, name)
            if name != 'route':
                self.eventually(lambda a=address: (254, a) in self.world.found(
                    resources.KernelRoute), name)
            self.world.down.clear()
            self.eventually(lambda a=address: a in self.announced(),
                            f'{name} is healed')
            self.eventually(lambda: not agent.status.reasons, 'all is well')
