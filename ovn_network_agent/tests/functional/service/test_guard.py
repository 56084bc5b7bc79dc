# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The withdrawal guard on real databases; decision record 0021."""

import contextlib
import logging
import time

from ovn_network_agent.drivers import provider_port
from ovn_network_agent.engine import guard
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import growth
from ovn_network_agent.tests.functional.service import loss

HERE = cloud.CHASSIS
NO_ROUTER = 'the Northbound database has no router at all'
LACKS = ('the Southbound database has 1 gateway port on this chassis that '
         'the Northbound database does not have')


def addresses(count, net='198.18'):
    """So many addresses in 198.18.0.0/16 or another network, a list."""
    return [f'{net}.{1 + n // 200:d}.{1 + n % 200:d}' for n in range(count)]


class Holds(logging.Handler):
    """The lines of the guard, in order, and the level of each."""

    def __init__(self, case):
        super().__init__()
        self.lines = []
        self.levels = []
        logger = logging.getLogger(guard.__name__)
        case.addCleanup(logger.setLevel, logger.level)
        logger.setLevel(logging.INFO)
        logger.addHandler(self)
        case.addCleanup(logger.removeHandler, self)

    def emit(self, record):
        self.lines.append(record.getMessage())
        self.levels.append(record.levelname)


class GuardTestCase(loss.LossTestCase):
    """Router r1 has two addresses, and router big has many."""

    count = 20

    def setUp(self):
        super().setUp()
        self.holds = Holds(self)
        self.cloud.add_router('big', networks=['198.18.0.1/16'], chassis=HERE)
        self.cloud.add_nats('big', addresses(self.count))

    def running(self, **options):
        agent = super().running(**options)
        self.eventually(lambda: len(self.announced()) == self.count + 3,
                        self.announced)
        self.well(agent)
        self.world.journal.clear()
        return agent

    def deleted(self):
        return {ref for verb, ref in self.world.journal if verb == 'delete'}

    def held(self, agent, *parts):
        """Wait until the guard holds addresses, for these reasons."""
        self.degraded(agent, 'the withdrawal guard holds', *parts)
        self.assertEqual(set(), self.deleted())

    def empty_nb(self):
        self.nb.transact(ovsdb.delete('Logical_Router', {}))

    def empty_sb(self):
        """What ovn-northd makes of an empty NB."""
        self.sb.transact(*(ovsdb.delete('Port_Binding', {'type': kind})
                           for kind in ('chassisredirect', 'patch')))

    @contextlib.contextmanager
    def mutely(self, server):
        """A server that answers nothing meanwhile."""
        server.pause()
        try:
            yield
        finally:
            server.resume()


class GuardTest(GuardTestCase):

    def test_an_emptied_database_that_is_filled_again(self):
        """Neutron writes the rows anew, one after the other."""
        agent = self.running()
        self.empty_nb()
        self.held(agent, NO_ROUTER, LACKS.replace(
            '1 gateway port', '2 gateway ports'))
        # ovn-northd follows, and both databases agree.
        self.empty_sb()
        self.degraded(agent, NO_ROUTER)
        self.eventually(lambda: 'Southbound' not in str(
            agent.status.reasons), lambda: agent.status.reasons)
        self.cloud.add_router('big', networks=['198.18.0.1/16'], chassis=HERE)
        self.held(agent, guard.EMPTIED)
        for address in addresses(self.count):
            self.cloud.add_nat('big', address)
        self.held(agent, '2 of 23')
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_nat('r1', '198.51.100.10')
        self.well(agent)
        self.assertEqual(set(), self.withdrawn())
        self.assertEqual(2, len(self.holds.lines), self.holds.lines)

    def test_a_southbound_database_that_is_made_anew(self):
        """No chassis has the ports until ovn-controller claims them."""
        agent = self.running()
        self.empty_sb()
        self.held(agent, 'the gateway ports of 23 addresses are on no '
                  'chassis')
        for lrp in 'lrp-r1', 'lrp-big':
            self.cloud._bind(lrp, HERE, self.cloud.network)
        self.well(agent)
        self.assertEqual(set(), self.withdrawn())

    def held_only(self, agent, part):
        self.degraded(agent, 'the withdrawal guard holds ' + part)

    def test_what_moves_is_withdrawn_at_once(self):
        agent = self.running()
        for lrp in 'lrp-r1', 'lrp-big':
            self.cloud.move(lrp, cloud.OTHER)
        self.eventually(lambda: not self.announced(), self.announced)
        self.well(agent)
        self.assertEqual([], self.holds.lines)

    def test_a_server_that_does_not_answer(self):
        """What it has not confirmed stays, and goes with its answer."""
        agent = self.running(ovn__ovsdb_probe_interval=60000)
        with self.mutely(self.sb):
            self.nb.transact(ovsdb.update(
                'Logical_Router', {'name': 'neutron-big'},
                nat=ovsdb.ovsdb_set(())))
            self.held(agent, f'{self.count:d} of 23', guard.UNCONFIRMED)
            # Others go on as ever.
            self.cloud.add_nat('r1', '198.51.100.11')
            self.eventually(lambda: '198.51.100.11/32' in self.announced(),
                            self.announced)
            self.cloud.remove_nat('r1', '198.51.100.10')
            self.held_only(agent, '21 of 24')
        self.eventually(lambda: self.announced() == {
            '198.51.100.1/32', '198.51.100.11/32', '198.18.0.1/32'},
            self.announced)
        self.well(agent)

    def test_a_replica_that_has_lost_rows(self):
        """Changes that a server never made, in place of those it made."""
        agent = self.running()
        with agent._databases['nb'].rows() as nb:
            (row,) = [row for row in nb['Logical_Router'].values()
                      if row.name == 'neutron-big']
            row._data['nat'].values.clear()
            agent._databases['nb'].dirty.mark('Logical_Router', row.uuid)
        agent.trigger.fire('test')
        self.eventually(lambda: self.holds.lines, self.announced)
        self.well(agent)
        self.assertEqual(set(), self.withdrawn())
        self.assertEqual(self.count + 3, len(self.announced()))


class MachinesTest(GuardTestCase):
    """Machines on a provider network, beside routers."""

    drivers = {**GuardTestCase.drivers,
               'provider_port': provider_port.ProviderPortDriver}

    def test_they_count(self):
        """They stay until both servers have confirmed that they are gone."""
        self.cloud.add_switch()
        agent = self.running(drivers=list(self.drivers),
                             ovn__ovsdb_probe_interval=60000)
        growth.add_ports(self.cloud, range(2, 42))
        self.eventually(lambda: len(self.announced()) == 63, self.announced)
        with self.mutely(self.nb):
            self.sb.transact(ovsdb.delete('Port_Binding', {'type': ''}))
            self.held(agent, '40 of 63', guard.UNCONFIRMED)
        self.eventually(lambda: len(self.announced()) == 23, self.announced)
        self.well(agent)


class WishTest(GuardTestCase):
    """Deletions that Neutron wants; their times are in decision record 0021.
    """

    count = 100

    def test_its_floating_ips_are_deleted_in_one_transaction(self):
        agent = self.running()
        started = time.monotonic()
        self.nb.transact(ovsdb.update(
            'Logical_Router', {'name': 'neutron-big'},
            nat=ovsdb.ovsdb_set(())))
        self.eventually(lambda: len(self.announced()) == 3, self.announced)
        print('SECONDS', time.monotonic() - started, self.holds.lines)
        self.well(agent)
        # The servers have confirmed it soon, so there is no warning.
        self.assertEqual(['INFO', 'INFO'], self.holds.levels,
                         self.holds.lines)
