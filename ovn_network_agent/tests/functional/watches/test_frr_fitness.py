# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whether this node could announce a gateway, as the real FRR says."""

import os
import signal

from ovn_network_agent import ownership
from ovn_network_agent.backends.northbound import gateway_priority
from ovn_network_agent.common import trigger
from ovn_network_agent.privileged.routing import bgp
from ovn_network_agent.privileged.routing import vtysh
from ovn_network_agent.tests import programs
from ovn_network_agent.tests.functional.frr import agents
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.watches.frr import frr_fitness

NEEDED = ['zebra', 'bgpd', 'staticd']
UP = {'10.0.0.2': 'Established'}
BGP = ('router bgp 65001',)
NEIGHBOUR = ('router bgp 65002', 'no bgp network import-check',
             'address-family ipv4 unicast')


class FitnessTestCase(base.FrrTestCase):

    def conf_of_agent(self, **values):
        return worlds.conf(**{'drivers': ['gateway_drain'],
                              'frr__vrf_name': '', **values})

    def shut(self):
        """No session, until the end of the test."""
        self.frr.configure(*BGP, 'neighbor 10.0.0.2 shutdown')
        self.addCleanup(self.frr.wait_for_session)
        self.addCleanup(self.open_again)

    def open_again(self):
        self.frr.configure(*BGP, 'no neighbor 10.0.0.2 shutdown')

    def tell(self):
        """Have the neighbour tell a prefix, until the end of the test."""
        network = 'network 203.0.113.0/24'
        # FRR is that of the whole class, and a withdrawal takes its time.
        self.addCleanup(
            base.wait_until,
            lambda: bgp.read_sessions('', NEEDED) == [[], UP, []],
            'nothing is heard any more')
        self.addCleanup(self.frr.neighbour.configure, *NEIGHBOUR,
                        'no ' + network)
        self.frr.neighbour.configure(*NEIGHBOUR, network)

    def without(self, *names):
        """Without these daemons, until the end of the test."""
        for name in names:
            self.frr.kill(name)
            self.addCleanup(self.back, name)

    def back(self, name):
        """A daemon runs again; some tests are back before their end."""
        if not self.frr.runs(name):
            self.frr.start(name, config=base.BGP if name == 'bgpd' else '')
        self.frr.wait_for_session()


class TestRead(FitnessTestCase):

    def test_the_sessions_with_their_prefixes(self):
        (peer, family, state, seconds, _sent, received), *more = (
            bgp.read_peers(''))
        self.assertEqual(('10.0.0.2', 'ipv4', 'Established', 0, []),
                         (peer, family, state, received, more))
        self.assertGreater(seconds, -1)
        self.tell()
        base.wait_until(lambda: bgp.read_peers('')[0][5] == 1, 'received')
        self.without('bgpd')
        with self.assertRaisesRegex(OSError, 'bgpd'):
            bgp.read_peers('')

    def test_costs_no_process(self):
        with programs.started() as found:
            for _time in range(10):
                self.assertEqual([[], UP, []], bgp.read_sessions('', NEEDED))
        self.assertEqual([], found)
        # One that is started would have been heard.
        with programs.started() as found:
            vtysh.show('show version')
        self.assertIn('vtysh', str(found))

    def test_each_daemon(self):
        for name in ('bgpd', 'staticd', 'zebra'):
            with self.subTest(name):
                self.addCleanup(self.back, name)
                wanted = [[name], {} if name == 'bgpd' else UP, []]
                # Its socket is still there.
                self.frr.signal(name, signal.SIGKILL)
                base.wait_until(
                    lambda name=name: name not in vtysh.read_daemons(), 'end')
                self.assertTrue(
                    os.path.exists(f'{self.frr.rundir}/{name}.vty'))
                self.assertEqual(wanted, bgp.read_sessions('', NEEDED))
                self.frr.kill(name)
                self.assertEqual(wanted, bgp.read_sessions('', NEEDED))
                # As where FRR runs in a container.
                self.root_side(vtysh_wrapper='env')
                self.assertEqual(wanted, bgp.read_sessions('', NEEDED))
                self.root_side(vtysh_wrapper='')
                self.back(name)

    def test_neighbour_that_is_shut_down(self):
        self.shut()
        self.assertEqual([[], {'10.0.0.2': 'Idle (Admin)'}, []],
                         bgp.read_sessions('', NEEDED))

    def test_vrf_without_bgp(self):
        self.root_side(vrf_name='vrf-none')
        self.assertEqual([[], {}, []], bgp.read_sessions('vrf-none', NEEDED))

    def test_one_that_hangs(self):
        self.addCleanup(self.frr.wait_for_session)
        with self.wedged('bgpd'), self.assertRaises(TimeoutError):
            bgp.read_sessions('', NEEDED)

    def test_checked(self):
        with self.assertRaises(OSError):
            bgp.read_sessions('x y', NEEDED)


class TestThread(FitnessTestCase):
    """On its own thread, as in the agent."""

    def started(self, **values):
        self.trigger = trigger.Trigger(0)
        made = frr_fitness.Fitness(self.conf_of_agent(**values))
        made.start(self.trigger)
        self.addCleanup(made.stop)
        return made

    def test_back_and_not_for_long_enough(self):
        self.without('staticd')
        made = self.started(fip_route__announce_method='static')
        base.wait_until(lambda: made.unfit, 'unfit')
        self.assertFalse(made.recovers)
        self.back('staticd')
        base.wait_until(lambda: made.recovers, 'back')
        self.assertTrue(made.unfit)
        base.wait_until(lambda: not made.unfit, 'for long enough')
        self.assertFalse(made.recovers)

    def test_what_hangs_is_said_and_changes_nothing(self):
        made = self.started()
        base.wait_until(lambda: made.judgement.asked, 'looked')
        with self.wedged('bgpd'):
            self.assertIsNotNone(self.trigger.wait(20))
            self.assertIn('it is unknown whether', made.reasons[0])
            self.assertFalse(made.unfit)
        self.frr.wait_for_session()
        base.wait_until(lambda: not made.reasons, 'found out')


class TestAgent(agents.ServiceTestCase, FitnessTestCase):
    """FRR, databases, driver and backend are real; OVN is the test."""

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=cloud.OTHER)
        self.nb.transact(ovsdb.update(
            'Gateway_Chassis', {'chassis_name': cloud.OTHER}, priority=9))

    def agent(self, start=True, observers=agents.observers):
        conf = self.conf_on_servers(
            drivers=['gateway_drain'], gateway_drain__relay=False,
            reconcile_interval=3600)
        return self.service(
            conf, 'gateway_drain',
            [gateway_priority.GatewayPriorityBackend(conf)],
            observers(conf), start)

    def state(self):
        """Priority, why it is drained, and what it was, of this chassis."""
        row, = self.nb.rows(
            'Gateway_Chassis', 'priority', 'external_ids',
            where=ovsdb.clauses({'chassis_name': cloud.CHASSIS}))
        ids = dict(row['external_ids'][1])
        return (row['priority'], ids.get(ownership.EXT_ID_DRAINED),
                ids.get(ownership.EXT_ID_EARLIER))

    def becomes(self, *state):
        self.eventually(lambda: self.state() == state, self.state)

    def test_a_standby_leaves_and_returns(self):
        agent = self.agent()
        self.eventually(lambda: agent.status.reasons == (),
                        lambda: agent.status.reasons)
        self.assertEqual((2, None, None), self.state())
        self.shut()
        self.becomes(0, 'unfit', '2')
        # The status is told after the row is written.
        self.eventually(lambda: 'no standby until it can' in ''.join(
            agent.status.reasons), lambda: agent.status.reasons)
        self.open_again()
        self.becomes(1, None, None)
        self.eventually(lambda: agent.status.reasons == (),
                        lambda: agent.status.reasons)

    def test_it_takes_what_nobody_else_has(self):
        """And a dry run knows."""
        self.without('bgpd')
        before = self.nb.content()
        (verb, planned), = self.agent(start=False).plan(30)[0]
        self.assertEqual(('update', 0, 'unfit', 2), (
            verb, planned.priority, planned.drained, planned.earlier))
        self.assertEqual(before, self.nb.content())
        agent = self.agent()
        self.becomes(0, 'unfit', '2')
        self.nb.transact(ovsdb.update(
            'Gateway_Chassis', {'chassis_name': cloud.OTHER}, priority=0))
        self.cloud.move('lrp-r1', cloud.CHASSIS)
        self.eventually(lambda: any(
            router.local_ports for router in agent._view.last.routers),
            'the port is here')
        # It says so, and leaves it to the first one that can announce it.
        self.assertIn('bgpd of FRR not running', agent.status.reasons[0])
        self.becomes(0, 'unfit', '2')
