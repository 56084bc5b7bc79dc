# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The start of an agent with thousands of addresses, over a real FRR."""

import logging
import os

import fixtures

from ovn_network_agent.engine import application
from ovn_network_agent.privileged.routing import vtysh
from ovn_network_agent.tests.functional.frr import agents
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.frr import transactions
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

# Routers, and the floating IPs of each.
ROUTERS, FIPS = 3, 1500


class TestLargeStart(agents.AnnouncingTestCase):
    """Kernel and switch are a world; FRR and the databases are real."""

    def setUp(self):
        super().setUp()
        self.wanted = set()
        for number in range(1, ROUTERS + 1):
            self.cloud.add_router(f'r{number}', [f'11.{number}.255.1/16'],
                                  cloud.CHASSIS,
                                  mac=f'fa:16:3e:00:00:{number:02x}')
            addresses = [f'11.{number}.{n >> 8}.{n & 255}'
                         for n in range(FIPS)]
            self.cloud.add_nats(f'r{number}', addresses)
            self.wanted.update(f'{address}/32' for address in (
                *addresses, f'11.{number}.255.1'))
        path, = [path for name in ('mgmtd', 'staticd') if os.path.exists(
            path := f'{self.frr.rundir}/{name}.vty')][:1]
        self.relay = transactions.Relay(path)
        self.addCleanup(self.relay.close)
        # As of a daemon that has written nothing yet.
        vtysh.BATCH_SIZE.forget()

    def test_the_first_router_goes_ahead(self):
        """Row FIP-07."""
        log = self.useFixture(fixtures.FakeLogger(
            application.__name__, level=logging.WARNING))
        self.agent()
        base.wait_until(lambda: self.wanted == self.frr.learned(),
                        'all announced', ovsdb.DEADLINE)
        # vtysh begins and ends a transaction in each daemon.
        first, *others = filter(None, self.relay.sizes)
        self.assertEqual(FIPS + 1, first)
        # By the speed of the first transaction, on a common machine all at
        # once.
        self.assertEqual((ROUTERS - 1) * (FIPS + 1), sum(others))
        self.assertLessEqual(2500, others[0])
        # That FRR takes a second for so many is no news.
        self.assertEqual('', log.output)
