# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What chassis that are gone for good left behind."""

from ovn_network_agent import ownership
from ovn_network_agent.backends import base as backends
from ovn_network_agent.tests.functional.backends import stale
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds

DEAD, GONE = stale.DEAD, stale.GONE


class BackendTest(stale.Backends, clouds.CloudTestCase):

    def test_routes_and_bindings_of_the_dead_alone(self):
        """Rows STL-01, STL-09."""
        self.leave('dead', stale.tags(DEAD))
        self.leave('gone', stale.tags(GONE))
        self.leave('live', stale.tags(cloud.OTHER_HOSTNAME))
        self.leave('ours', stale.tags(cloud.HOSTNAME))
        self.assertEqual({}, self.clean(DEAD))
        self.assertEqual(
            ({('gone', GONE), ('live', cloud.OTHER_HOSTNAME),
              ('ours', cloud.HOSTNAME)}, {'lrp-gone', 'lrp-live',
                                          'lrp-ours'}), self.left())
        self.assertEqual({}, self.clean(DEAD, GONE))
        self.assertNotIn(('gone', GONE), self.left()[0])

    def test_what_is_not_managed_or_of_nobody_stays(self):
        """Row STL-05."""
        self.leave('foreign', {ownership.EXT_ID_CHASSIS: DEAD})
        self.leave('nobodys', {ownership.EXT_ID_MANAGED:
                               ownership.EXT_ID_MANAGED_VALUE})
        self.assertEqual({}, self.clean(DEAD))
        self.assertEqual(
            ({('foreign', DEAD), ('nobodys', None)},
             {'lrp-foreign', 'lrp-nobodys'}), self.left())

    def test_the_binding_of_a_live_route_on_the_same_port_stays(self):
        """Row STL-04, trap T17."""
        self.leave('r1', stale.tags(DEAD))
        self.leave('r1', stale.tags(cloud.OTHER_HOSTNAME), binding=False,
                   router=False)
        self.assertEqual({}, self.clean(DEAD))
        self.assertEqual(({('r1', cloud.OTHER_HOSTNAME)}, {'lrp-r1'}),
                         self.left())

    def test_two_dead_on_the_same_port(self):
        self.leave('r1', stale.tags(DEAD))
        self.leave('r1', stale.tags(GONE), binding=False, router=False)
        self.assertEqual({}, self.clean(DEAD, GONE))
        self.assertEqual((set(), set()), self.left())

    def test_a_binding_elsewhere_is_not_the_routes(self):
        self.leave('r1', stale.tags(DEAD))
        self.nb.transact(ovsdb.insert(
            'Static_MAC_Binding', logical_port='lrp-r1', ip='198.51.100.7',
            mac=stale.MAC, override_dynamic_mac=True))
        self.assertEqual({}, self.clean(DEAD))
        self.assertEqual(['198.51.100.7'], [
            row['ip'] for row in self.nb.rows('Static_MAC_Binding')])

    def test_the_server_is_asked_once_more(self):
        """Row STL-10: whoever says that it is gone, SB has it."""
        self.leave('live', stale.tags(cloud.OTHER_HOSTNAME))
        self.leave('dead', stale.tags(DEAD))
        failures = self.clean(cloud.OTHER_HOSTNAME, DEAD)
        self.assertEqual([cloud.OTHER_HOSTNAME],
                         [ref.key[-1].hostname for ref in failures])
        self.assertIsInstance(*failures.values(), backends.Kept)
        self.assertEqual({('live', cloud.OTHER_HOSTNAME)}, self.left()[0])

    def test_one_that_is_taken_over_meanwhile(self):
        """A survivor writes its tag while this one decides."""
        self.leave('r1', stale.tags(DEAD))
        self.synchronise(self.eyes_)
        backend = self.agent(DEAD)
        base.meanwhile(backend, lambda: self.nb.transact(ovsdb.update(
            'Logical_Router_Static_Route', {},
            external_ids=ovsdb.ovsdb_dict(stale.tags(cloud.OTHER_HOSTNAME)))))
        self.assertEqual({}, self.clean(backend=backend))
        self.assertEqual(({('r1', cloud.OTHER_HOSTNAME)}, {'lrp-r1'}),
                         self.left())

    def test_another_route_for_the_port_comes_meanwhile(self):
        """Row STL-04: then the binding is that one's."""
        self.leave('r1', stale.tags(DEAD))
        self.synchronise(self.eyes_)
        backend = self.agent(DEAD)
        base.meanwhile(backend, lambda: self.leave(
            'r1', stale.tags(cloud.OTHER_HOSTNAME), binding=False,
            router=False))
        self.assertEqual({}, self.clean(backend=backend))
        self.assertEqual(({('r1', cloud.OTHER_HOSTNAME)}, {'lrp-r1'}),
                         self.left())


class ViewTest(stale.Rows, clouds.CloudTestCase):
    """When the time of a chassis counts."""

    def setUp(self):
        super().setUp()
        self.leave('dead', stale.tags(DEAD))

    def waits(self, eyes):
        eyes.look()
        return eyes.view.due_in() is not None

    def test_only_while_it_is_gone_and_we_are_there(self):
        """Row STL-03; nobody is condemned by an SB made from nothing."""
        eyes = self.eyes()
        for waits, change in (
                (True, lambda: None),
                (False, lambda: self.appear('third', DEAD)),
                (True, lambda: self.sb.delete('Chassis', hostname=DEAD)),
                (False, lambda: self.sb.delete('Chassis', name=clouds.HERE)),
                (True, self.add_chassis)):
            change()
            self.assertIs(waits, self.waits(eyes))
        self.assertEqual(frozenset(), eyes.view.dead)

    def test_off(self):
        """Row STL-07; without the driver of these rows it is off, too."""
        for options in ({'gateway_drain__stale_chassis_grace_period': 0},
                        {'drivers': ['veth_leak']}):
            eyes = self.eyes(**options)
            self.assertFalse(self.waits(eyes))
            self.assertEqual(frozenset(), eyes.view.dead)

    def test_on_and_off_while_it_runs(self):
        """Row STL-07."""
        eyes = self.eyes()
        for grace, waits in ((0, False), (300, True), (0, False)):
            eyes.conf.set_override('stale_chassis_grace_period', grace,
                                   'gateway_drain')
            self.assertIs(waits, self.waits(eyes))
