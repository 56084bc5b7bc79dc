# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend advertised: real BGP is asked, and real databases are written."""

import os
import threading
import time
import uuid

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.northbound import advertised
from ovn_network_agent.backends.northbound import router_rows
from ovn_network_agent.common import backoff
from ovn_network_agent.common import normal_wait
from ovn_network_agent.tests.functional.frr import agents
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.ovn import base as ovn
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world as worlds

A, B = '198.51.100.10/32', '198.51.100.11/32'
OURS = ownership.marks(cloud.OWNER)
THEIRS = ownership.marks(cloud.OTHER_OWNER)
MARKED = {**OURS, ownership.EXT_ID_ADVERTISED: cloud.HOSTNAME}


class AdvertisedTestCase(ovn.OvsdbTestCase, base.FrrTestCase):

    def setUp(self):
        super().setUp()
        self.eyes_ = self.eyes()
        self.router = self.add_router('r1')
        self.backend = self.agent()
        base.wait_until(lambda: not self.frr.learned(), 'clean')

    def add_router(self, name, external_ids=OURS):
        router = self.cloud.add_router(name, chassis=cloud.CHASSIS)
        self.cloud.add_static_route(name, nexthop='198.51.100.254',
                                    external_ids=external_ids)
        self.synchronise(self.eyes_)
        return router

    def agent(self, patience=advertised.TIMEOUT, **options):
        made = advertised.AdvertisedBackend(worlds.conf(
            frr__vrf_name='', **options), patience)
        made.attach(backends.Context(self.eyes_.databases,
                                     lambda: frozenset((cloud.OWNER,))))
        return made

    def proof(self, *prefixes, router=None):
        return resources.Advertised(router or self.router, cloud.OWNER,
                                    prefixes)

    def apply(self, *wanted, backend=None):
        """The failures, by UUID of the router."""
        failures = (backend or self.backend).apply(
            backends.Delta(create=wanted))
        return {ref.key[0]: reason for ref, reason in failures.items()}

    def marks(self):
        """external_ids of the static routes."""
        return [dict(row['external_ids'][1]) for row in
                self.nb.rows('Logical_Router_Static_Route')]

    def announce(self, *prefixes):
        """Have FRR announce addresses."""
        self.frr.configure(
            f'ip prefix-list {base.LIST} seq 5 permit 198.51.100.0/24 '
            'ge 32 le 32',
            *(f'ip route {prefix} {base.BRIDGE}' for prefix in prefixes))


class TestProof(AdvertisedTestCase):

    def test_only_what_bgp_sends_is_proved(self):
        """Trap T16: that FRR took a route is no proof."""
        self.frr.configure(f'ip route {A} {base.BRIDGE}')
        # It is in BGP, and the outbound list does not let it pass.
        self.assertEqual({self.router: f'BGP does not advertise {A} yet'},
                         self.apply(self.proof(A)))
        self.assertEqual([OURS], self.marks())
        self.announce(A)
        base.wait_until(lambda: self.frr.learned() == {A}, 'learned')
        self.assertEqual({}, self.apply(self.proof(A)))
        self.assertEqual([MARKED], self.marks())
        base.wait_until(lambda: self.backend.read(frozenset()) ==
                        [self.proof()], 'read back')

    def test_what_another_agent_takes_over_is_no_drift(self):
        """And a proof that somebody removes is drift."""
        ref = self.proof().ref
        self.assertEqual(set(), self.backend.taken_over([ref]))
        taken = self.add_router('r2', THEIRS)
        other = self.proof(router=taken).ref
        self.assertEqual({other}, self.backend.taken_over([ref, other]))

    def test_all_of_them(self):
        """Trap T16: one that is missing is enough."""
        self.announce(A)
        self.assertEqual({self.router: f'BGP does not advertise {B} yet'},
                         self.apply(self.proof(A, B)))
        self.assertEqual([OURS], self.marks())

    def test_what_another_gateway_announces_is_not_proved(self):
        """Trap T16: the former owner does so, and bgpd passes that on."""
        self.announce()
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
        base.wait_until(lambda: self.frr.learned() == {A}, 'learned')
        router_bgp = ('router bgp 65001', )
        self.frr.configure(*router_bgp, 'neighbor 10.0.0.2 shutdown')
        self.addCleanup(self.frr.wait_for_session)
        self.addCleanup(self.frr.configure, *router_bgp,
                        'no neighbor 10.0.0.2 shutdown')
        self.assertEqual({self.router}, self.apply(self.proof(A)).keys())
        self.assertEqual([OURS], self.marks())

    def be_patient(self):
        """However slow this machine is."""
        self.backend = self.agent(30.0)

    def test_it_waits_a_moment(self):
        self.be_patient()
        failures = []
        writer = threading.Thread(target=lambda: failures.append(
            self.apply(self.proof(A))))
        writer.start()
        self.announce(A)
        writer.join(ovsdb.DEADLINE)
        self.assertEqual([{}], failures)
        self.assertEqual([MARKED], self.marks())

    def test_each_is_written_as_soon_as_it_is_proved(self):
        self.be_patient()
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


class TestOwner(AdvertisedTestCase):

    def test_only_a_route_of_ours_gets_it(self):
        self.announce(A)
        for name, external_ids in (
                ('unmanaged', {'note': 'x'}),
                ('untagged', {ownership.EXT_ID_MANAGED:
                              ownership.EXT_ID_MANAGED_VALUE})):
            router = self.add_router(name, external_ids)
            self.assertEqual(
                {router: 'the router has no default route of ours'},
                self.apply(self.proof(A, router=router)))
        theirs, gone = self.add_router('theirs', THEIRS), str(uuid.uuid4())
        refused = self.apply(self.proof(A, router=theirs),
                             self.proof(A, router=gone))
        # The view is behind NB here, which is no fault of this node.
        self.assertEqual(
            {theirs: f'{ownership.owner(THEIRS)} has taken the default route '
                     'over', gone: 'the router is gone'}, refused)
        self.assertEqual({normal_wait.Reason},
                         set(map(type, refused.values())))
        self.assertEqual([], [ids for ids in self.marks() if
                              ownership.EXT_ID_ADVERTISED in ids])

    def test_one_that_is_taken_over_meanwhile(self):
        """Trap T26: the proof is for an owner, not for a route."""
        self.announce(A)
        base.wait_until(lambda: self.frr.learned() == {A}, 'learned')
        ovn.meanwhile(self.backend, lambda: self.nb.transact(ovsdb.update(
            'Logical_Router_Static_Route', {},
            external_ids=ovsdb.ovsdb_dict(THEIRS))))
        self.assertEqual({self.router}, self.apply(self.proof(A)).keys())
        self.assertEqual([THEIRS], self.marks())

    def test_what_counts_as_there(self):
        """Ours of an earlier run does, so that a restart clears nothing."""
        marked = self.add_router('marked', MARKED)
        for name, external_ids in (
                ('others', {**OURS, ownership.EXT_ID_ADVERTISED:
                            cloud.OTHER_HOSTNAME}),
                ('lost', {**MARKED, ownership.EXT_ID_CHASSIS:
                          cloud.OTHER_HOSTNAME}),
                ('unmanaged', {ownership.EXT_ID_ADVERTISED:
                               cloud.HOSTNAME})):
            self.add_router(name, external_ids)
        self.assertEqual([self.proof(router=marked)],
                         self.backend.read(frozenset()))
        nameless = self.agent()
        nameless.attach(backends.Context(self.eyes_.databases))
        self.assertEqual([], nameless.read(frozenset()))


class TestWitness(AdvertisedTestCase):
    """Who can be asked, and what is not known is not said."""

    def test_zebra_where_another_protocol_announces(self):
        backend = self.agent(frr__bgp_check=False)
        self.assertEqual(
            {self.router: f'zebra has not selected and installed {A} yet'},
            self.apply(self.proof(A), backend=backend))
        # bgpd does not send it, and is not asked.
        self.frr.configure(f'ip route {A} {base.BRIDGE}')
        base.wait_until(lambda: not self.apply(
            self.proof(A), backend=backend), 'zebra has it')
        self.assertEqual([MARKED], self.marks())

    def test_the_route_has_to_be_of_the_announce_method(self):
        backend = self.agent(frr__bgp_check=False,
                            fip_route__announce_method='kernel')
        self.frr.configure(f'ip route {A} {base.BRIDGE}')
        self.assertEqual({self.router}, self.apply(
            self.proof(A), backend=backend).keys())

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

    def test_without_tools_and_without_frr_the_kernel_has_to_do(self):
        self._without_tools()
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

    def marks(self):
        return [dict(row['external_ids'][1]) for row in
                self.nb.rows('Logical_Router_Static_Route')]

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

    def test_a_plan_writes_nothing(self):
        self.cloud.move('lrp-r1', cloud.CHASSIS)
        before = self.nb.content()
        steps, _outcome = self.agent(start=False).plan(ovsdb.DEADLINE)
        self.assertIn(('create', 'advertised'),
                      [(verb, resource.kind) for verb, resource in steps])
        self.assertEqual(before, self.nb.content())
