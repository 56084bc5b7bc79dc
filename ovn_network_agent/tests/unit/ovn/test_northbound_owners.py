# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend northbound: rows of other chassis and of other programs."""

import threading
import time

from ovn_network_agent import ownership
from ovn_network_agent.backends import base as backends
from ovn_network_agent.tests.functional.backends import northbound_rows
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds

HERE, OTHER_MAC = northbound_rows.HERE, northbound_rows.OTHER_MAC
GATEWAY, OURS = northbound_rows.GATEWAY, northbound_rows.OURS
# As an earlier agent and the Go program write the mark.
EARLIER = {key: value for key, value in OURS.items()
           if key != ownership.EXT_ID_OWNER}
THEIRS, PROOF = northbound_rows.THEIRS, northbound_rows.PROOF


class ProofTest(northbound_rows.Rows, clouds.CloudTestCase):
    """The mark of who announces a route goes with its owner."""

    def present(self, external_ids):
        self.foreign(GATEWAY, external_ids=external_ids, output_port='lrp-r1')

    def test_a_take_over_removes_any_of_an_earlier_owner(self):
        """Trap T26: also one of this chassis, from before the other."""
        for mark in (cloud.OTHER_HOSTNAME, cloud.HOSTNAME, 'gw3'):
            self.present({**THEIRS, PROOF: mark})
            self.assertEqual({}, self.create(self.route()))
            self.assertEqual([OURS], [ids for *_, ids in self.routes()])
            self.delete(self.route())

    def test_ours_stays(self):
        self.present({**OURS, PROOF: cloud.HOSTNAME})
        self.read_until(self.route())
        update = (self.route(nexthop='198.51.100.253'), self.route())
        self.assertEqual({}, self.backend.apply(
            backends.Delta(update=(update,))))
        self.assertEqual([{**OURS, PROOF: cloud.HOSTNAME}],
                         [ids for *_, ids in self.routes()])

    def test_anothers_on_a_route_of_ours_is_a_difference(self):
        """Trap T26: an agent that leaves marks as they are was here."""
        self.present({**OURS, PROOF: cloud.OTHER_HOSTNAME, 'note': 'kept'})
        found = self.route(outdated=cloud.OTHER_HOSTNAME)
        self.read_until(found)
        self.assertNotEqual(self.route(), found)
        self.assertEqual({}, self.backend.apply(
            backends.Delta(update=((found, self.route()),))))
        self.assertEqual([{**OURS, 'note': 'kept'}],
                         [ids for *_, ids in self.routes()])
        self.read_until(self.route())

    def test_a_route_with_the_host_name_alone(self):
        """Row SID-07: a mark of the Go program, or of an earlier agent."""
        self.present(EARLIER)
        earlier = self.route(owner=cloud.OWNER._replace(chassis=''))
        self.read_until(earlier)
        self.assertEqual({}, self.backend.apply(
            backends.Delta(update=((earlier, self.route()),))))
        self.assertEqual([OURS], [ids for *_, ids in self.routes()])
        self.read_until(self.route())

    def test_a_host_name_that_another_chassis_has_too(self):
        """Row SID-06: the route is whose mark it gets."""
        self.backend.attach(backends.Context(
            self.eyes_.databases, lambda: frozenset((cloud.OWNER,))))
        self.present(EARLIER)
        self.assertEqual([], self.backend.read(frozenset()))
        self.assertEqual({}, self.create(self.route()))
        self.assertEqual([OURS], [ids for *_, ids in self.routes()])
        namesake = ownership.Owner(cloud.HOSTNAME, cloud.OTHER)
        other = self.agent(namesake)
        self.assertEqual({}, self.create(self.route(owner=namesake),
                                         backend=other))
        self.read_until()
        self.read_until(self.route(owner=namesake), backend=other)

    def test_a_mark_that_an_earlier_agent_has_not_written(self):
        """It counts while the host name is the same."""
        self.present({**OURS, ownership.EXT_ID_CHASSIS: cloud.OTHER_HOSTNAME})
        self.assertEqual([], self.backend.read(frozenset()))
        other = self.agent(cloud.OTHER_OWNER)
        self.read_until(self.route(owner=cloud.OTHER_OWNER._replace(
            chassis='')), backend=other)

    def test_that_of_another_owner_is_its_own(self):
        self.present({**THEIRS, PROOF: cloud.OTHER_HOSTNAME})
        self.assertEqual([], self.backend.read(frozenset()))

    def test_of_two_routes_the_one_with_our_tag_is_ours(self):
        self.present(THEIRS)
        self.present(OURS)
        self.present(THEIRS)
        self.assertEqual({}, self.create(self.route(nexthop='198.51.100.253')))
        self.assertEqual(
            [('198.51.100.253', cloud.HOSTNAME)],
            [(nexthop, ids[ownership.EXT_ID_CHASSIS])
             for _r, nexthop, _p, ids in self.routes()
             if nexthop != GATEWAY])


class ForeignTest(northbound_rows.Rows, clouds.CloudTestCase):

    def test_a_foreign_default_route_is_left_alone(self):
        """Trap T25, the default route itself."""
        self.foreign()
        before = self.nb.content()
        failures = self.create(self.route())
        self.assertIn('198.51.100.9', failures[self.route().ref])
        self.assertEqual(before, self.nb.content())
        self.assertEqual({}, self.delete(self.route()))
        self.assertEqual(before, self.nb.content())
        self.assertEqual([], self.backend.read(frozenset()))

    def test_it_costs_only_its_router(self):
        second = self.cloud.add_router('r2', chassis=HERE)
        self.foreign()
        failures = self.create(self.route(), self.route(second, lrp='lrp-r2'))
        self.assertEqual([self.route().ref], list(failures))
        self.assertIn(('neutron-r2', GATEWAY, 'lrp-r2', OURS), self.routes())

    def test_other_routes_do_not_count(self):
        self.foreign('198.51.100.5', route_table='other')
        self.foreign('198.51.100.6', policy='src-ip')
        self.assertEqual({}, self.create(self.route()))
        self.assertEqual(3, len(self.routes()))
        self.delete(self.route())
        self.assertEqual({'198.51.100.5', '198.51.100.6'},
                         {nexthop for _r, nexthop, _p, _e in self.routes()})

    def test_a_managed_route_of_another_chassis_is_not_ours(self):
        self.foreign(GATEWAY, external_ids=THEIRS, output_port='lrp-r1')
        before = self.nb.content()
        self.assertEqual([], self.backend.read(frozenset()))
        self.assertEqual({}, self.delete(self.route()))
        self.assertEqual(before, self.nb.content())

    def test_foreign_bindings_survive(self):
        """Trap T24."""
        self.nb.insert('Static_MAC_Binding', logical_port='lrp-r1',
                       ip='198.51.100.200', mac=OTHER_MAC)
        self.create(self.binding(), self.route())
        self.read_until(self.route(), self.binding())
        self.delete(self.binding(), self.route())
        self.assertEqual({('lrp-r1', '198.51.100.200'): OTHER_MAC},
                         self.bindings())

    def test_the_binding_goes_with_the_route_to_its_new_owner(self):
        # What this agent still believes to have must not be removed.
        self.create(self.binding(), self.route())
        known = {self.binding().ref, self.route().ref}
        self.read_until(self.route(), self.binding(), known=known)
        self.nb.transact(
            ovsdb.update('Logical_Router_Static_Route', {},
                         external_ids=ovsdb.ovsdb_dict(THEIRS)),
            ovsdb.update('Static_MAC_Binding', {}, mac=OTHER_MAC))
        self.read_until(known=known)
        before = self.nb.content()
        # A pass may have been decided just before.
        self.assertEqual({}, self.delete(self.binding(), self.route()))
        self.assertEqual(before, self.nb.content())

    def test_the_binding_of_a_router_that_is_gone_is_ours(self):
        # It is a row of its own that nobody else would ever collect.
        self.create(self.binding(), self.route())
        known = {self.binding().ref, self.route().ref}
        self.read_until(self.route(), self.binding(), known=known)
        self.cloud.remove_router('r1')
        self.read_until(self.binding(), known=known)
        self.delete(self.binding())
        self.assertEqual({}, self.bindings())


class TakenTest(northbound_rows.Rows, clouds.CloudTestCase):
    """A row that another chassis takes while this node builds its view."""

    def setUp(self):
        super().setUp()
        self.viewed, self.answered = 0.0, threading.Event()
        self.backend.attach(backends.Context(
            self.eyes_.databases, lambda: frozenset((cloud.OWNER,)),
            wake=lambda *_args, **_kwargs: self.answered.set(),
            viewed=lambda: self.viewed))
        self.create(self.route())
        self.read_until(self.route())

    def taken(self):
        """The other chassis takes the route, and the backend notices."""
        self.nb.transact(ovsdb.update('Logical_Router_Static_Route', {},
                                      external_ids=ovsdb.ovsdb_dict(THEIRS)))
        self.read_until(known=[self.route().ref])
        self.assertTrue(self.answered.wait(ovsdb.DEADLINE))

    def test_an_answer_is_no_use_to_an_older_view(self):
        """The work of a pass goes on by its view after SB has answered."""
        self.taken()
        for _reading in range(2):
            failures = self.create(self.route())
            self.assertIn('has not answered', failures[self.route().ref])
            self.assertEqual([THEIRS], [ids for *_, ids in self.routes()])
            self.assertEqual([], self.backend.read(frozenset()))

    def test_the_next_view_decides(self):
        self.taken()
        self.viewed = time.monotonic()
        # The work of the view from before the answer is still under way.
        self.assertIn(self.route().ref, self.create(self.route()))
        self.backend.read(frozenset())
        self.assertEqual({}, self.create(self.route()))
        self.assertEqual([OURS], [ids for *_, ids in self.routes()])
