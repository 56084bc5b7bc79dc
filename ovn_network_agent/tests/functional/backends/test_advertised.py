# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend advertised: real BGP is asked, and real databases are written."""

import os
import threading
import time

from ovn_network_agent import ownership
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.northbound import advertised
from ovn_network_agent.backends.northbound import router_rows
from ovn_network_agent.common import backoff
from ovn_network_agent.tests.functional.backends import proofs
from ovn_network_agent.tests.functional.frr import agents
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.ovn import base as ovn
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

A, B = '198.51.100.10/32', '198.51.100.11/32'
OURS = ownership.marks(cloud.OWNER)
THEIRS = ownership.marks(cloud.OTHER_OWNER)
MARKED = {**OURS, ownership.EXT_ID_ADVERTISED: cloud.HOSTNAME}

# Seconds for what does not change any more.
HURRY = 0.3


class TestProof(proofs.Rows, ovn.OvsdbTestCase, base.FrrTestCase):

    def setUp(self):
        super().setUp()
        base.wait_until(lambda: not self.frr.learned(), 'clean')

    def announce(self, *prefixes):
        """Have FRR announce addresses."""
        self.frr.configure(
            f'ip prefix-list {base.LIST} seq 5 permit 198.51.100.0/24 '
            'ge 32 le 32',
            *(f'ip route {prefix} {base.BRIDGE}' for prefix in prefixes))

    def test_only_what_bgp_sends_is_proved(self):
        """Trap T16: that FRR took a route is no proof."""
        self.frr.configure(f'ip route {A} {base.BRIDGE}')
        # It is in BGP, and the outbound list does not let it pass.
        self.assertEqual({self.router: f'BGP does not advertise {A} yet'},
                         self.apply(self.proof(A)))
        self.assertEqual([OURS], self.marks())
        self.announce(A)
        base.wait_until(lambda: self.frr.learned() == {A}, 'learned')
        # One that is missing is enough.
        self.assertEqual({self.router: f'BGP does not advertise {B} yet'},
                         self.apply(self.proof(A, B)))
        self.assertEqual([OURS], self.marks())
        self.assertEqual({}, self.apply(self.proof(A)))
        self.assertEqual([MARKED], self.marks())
        base.wait_until(lambda: self.backend.read(frozenset()) ==
                        [self.proof()], 'read back')

    def test_what_another_gateway_announces_is_not_proved(self):
        """Trap T16: the former owner does so, and bgpd passes that on."""
        self.announce()
        self.backend = self.agent(HURRY)
        router_bgp = ('configure terminal', 'router bgp 65002',
                      'address-family ipv4 unicast')
        self.frr.neighbour.vtysh(*router_bgp, f'network {A}')
        self.addCleanup(self.frr.neighbour.vtysh, *router_bgp,
                        f'no network {A}')
        base.wait_until(lambda: '"advertisedTo"' in self.frr.vtysh(
            f'show bgp ipv4 unicast {A} json'), 'passed on')
        self.assertEqual({self.router}, self.apply(self.proof(A)).keys())
        self.assertEqual([OURS], self.marks())
        self.announce(A)
        base.wait_until(lambda: not self.apply(self.proof(A)), 'ours')
        self.assertEqual([MARKED], self.marks())

    def test_a_neighbour_has_to_be_there(self):
        self.announce(A)
        self.backend = self.agent(HURRY)
        base.wait_until(lambda: self.frr.learned() == {A}, 'learned')
        router_bgp = ('router bgp 65001', )
        self.frr.configure(*router_bgp, 'neighbor 10.0.0.2 shutdown')
        self.addCleanup(self.frr.wait_for_session)
        self.addCleanup(self.frr.configure, *router_bgp,
                        'no neighbor 10.0.0.2 shutdown')
        self.assertEqual({self.router}, self.apply(self.proof(A)).keys())
        self.assertEqual([OURS], self.marks())

    def test_each_is_written_as_soon_as_it_is_proved(self):
        # However slow this machine is.
        self.backend = self.agent(30.0)
        other = self.add_router('r2')
        self.announce(A)
        seen = []
        writer = threading.Thread(target=lambda: seen.append(self.apply(
            self.proof(B), self.proof(A, router=other))))
        writer.start()
        base.wait_until(lambda: MARKED in self.marks(), 'the one')
        self.assertEqual([], seen)
        self.announce(B)
        writer.join(ovsdb.DEADLINE)
        self.assertEqual([{}], seen)
        self.assertEqual([MARKED, MARKED], self.marks())

    def test_what_was_late_is_not_waited_for_again(self):
        """A router that is filtered must not delay those that come."""
        other = self.add_router('r2')
        self.announce()
        self.apply(self.proof(B))
        started = time.monotonic()
        self.assertEqual({self.router}, self.apply(self.proof(B)).keys())
        self.assertLess(time.monotonic() - started, advertised.TIMEOUT)
        self.announce(A)
        base.wait_until(lambda: self.frr.learned() == {A}, 'learned')
        self.assertEqual({self.router}, self.apply(
            self.proof(B), self.proof(A, router=other)).keys())
        self.assertIn(MARKED, self.marks())

    # -- who can be asked; what is not known is not said ------------------

    def test_zebra_where_another_protocol_announces(self):
        """And only a route of the announce method counts."""
        zebra, kernel = (self.agent(HURRY, frr__bgp_check=False, **options)
                         for options in ({}, {
                             'fip_route__announce_method': 'kernel'}))
        self.assertEqual(
            {self.router: f'zebra has not selected and installed {A} yet'},
            self.apply(self.proof(A), backend=zebra))
        # bgpd does not send it, and is not asked.
        self.frr.configure(f'ip route {A} {base.BRIDGE}')
        base.wait_until(lambda: not self.apply(
            self.proof(A), backend=zebra), 'zebra has it')
        self.assertEqual([MARKED], self.marks())
        self.assertEqual({self.router}, self.apply(
            self.proof(A), backend=kernel).keys())

    def _without_tools(self):
        # Neither vtysh nor the sockets of the daemons.
        self.root_side(frr_run_dir='/var/empty')
        before = os.environ['PATH']
        os.environ['PATH'] = '/var/empty'
        self.addCleanup(os.environ.__setitem__, 'PATH', before)

    def test_without_tools_nobody_says_so(self):
        self._without_tools()
        for options in ({'fip_route__announce_method': 'kernel'},
                        {'frr__bgp_check': False}):
            error = self.assertRaises(
                backends.BackendError, self.apply, self.proof(A),
                backend=self.agent(**options))
            self.assertIn('it is unknown whether', str(error))
            self.assertIs(not options.get('frr__bgp_check', True),
                          'bgp_check' not in str(error))
        self.assertEqual([OURS], self.marks())
        # Without FRR the kernel has to do.
        self.assertEqual({}, self.apply(self.proof(A), backend=self.agent(
            frr__bgp_check=False, fip_route__announce_method='kernel')))
        self.assertEqual([MARKED], self.marks())

    def test_one_that_hangs(self):
        self.announce(A)
        with self.wedged('bgpd'):
            started = time.monotonic()
            error = self.assertRaises(backends.BackendError, self.apply,
                                      self.proof(A))
            self.assertIn('1 s', str(error))
            self.assertLess(time.monotonic() - started, 8)
        self.assertEqual([OURS], self.marks())
        base.wait_until(lambda: not self.apply(self.proof(A)), 'it heals')
        self.assertEqual([MARKED], self.marks())


class TestAgent(agents.AnnouncingTestCase):
    """The whole service with real databases and FRR; kernel and switch not."""

    real = {**agents.AnnouncingTestCase.real,
            'northbound': router_rows.NorthboundBackend,
            'advertised': advertised.AdvertisedBackend}

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=cloud.OTHER)
        self.cloud.add_nat('r1', '198.51.100.10')
        self.cloud.add_static_route(
            'r1', nexthop='198.51.100.254', output_port='lrp-r1',
            external_ids={**THEIRS, ownership.EXT_ID_ADVERTISED:
                          cloud.OTHER_HOSTNAME})
        self.witness, self.seen = self.witnessed()

    marks = proofs.Rows.marks

    def filtered(self):
        """A route map lets nothing out, until it is removed again."""
        address_family = ('router bgp 65001', 'address-family ipv4 unicast')
        self.frr.configure(
            'route-map NONE deny 10', 'exit', *address_family,
            'neighbor 10.0.0.2 route-map NONE out')

        def lift():
            self.frr.configure(
                'no route-map NONE', *address_family,
                'no neighbor 10.0.0.2 route-map NONE out')
        return lift

    def test_a_take_over(self):
        """Traps T16, T26: ours first without a proof, then with it."""
        agent = self.agent()
        self.eventually(lambda: agent.status.reasons == (), 'all is well')
        self.assertEqual([THEIRS | {ownership.EXT_ID_ADVERTISED:
                                    cloud.OTHER_HOSTNAME}], self.marks())
        self.cloud.move('lrp-r1', cloud.CHASSIS)
        self.eventually(lambda: self.marks() == [MARKED], self.marks)
        # What is proved has been sent, if it has not yet arrived.
        base.wait_until(lambda: A in self.frr.learned(), 'learned')
        self.eventually(lambda: agent.status.reasons == (),
                        lambda: agent.status.reasons)
        self.synchronise(self.witness)
        self.assertEqual([OURS, MARKED], self.seen)

    def test_what_bgp_does_not_send_is_not_proved_until_it_does(self):
        """Trap T16, and the status says why."""
        lift = self.filtered()
        self.cloud.move('lrp-r1', cloud.CHASSIS)
        try:
            # As if it had been so for long.
            agent = self.agent(retries=backoff.Retries(
                first=600.0, last=600.0))
            self.eventually(
                lambda: 'BGP does not advertise' in ''.join(
                    agent.status.reasons or ()), 'the reason')
            self.assertEqual([OURS], self.marks())
        finally:
            lift()
        self.eventually(lambda: self.marks() == [MARKED], self.marks, 60)
