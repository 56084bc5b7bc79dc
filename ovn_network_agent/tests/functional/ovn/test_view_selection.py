# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which addresses are withheld, from rows of real databases."""

from ovn_network_agent.model import selection
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import schemas
from ovn_network_agent.tests.functional.ovn import view_base
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE = views.HERE
MARK = 'ovn-network-agent:announce'
NATIVE = 'dynamic-routing-advertise'
OWN, FIP, OTHER, VIP = (f'198.51.100.{n}' for n in (1, 10, 11, 20))
ALL = {OWN, FIP, OTHER, VIP}


class SelectionTestCase(view_base.ViewTestCase):

    def setUp(self):
        super().setUp()
        self.router = self.cloud.add_router('r1', chassis=HERE)
        for address in (FIP, OTHER):
            self.cloud.add_nat('r1', address)
        self.cloud.add_nat('r1', OWN, '10.0.0.0/24', 'snat')
        self.cloud.add_balancer('r1', VIP + ':22')

    def withheld(self, eyes):
        """Addresses that are withheld, with the reasons."""
        return {address: each.withheld for address, each
                in eyes.addresses('r1').items() if each.withheld}

    def mark(self, table, where, value):
        self.cloud.say(table, where, external_ids={MARK: value})

    def become(self, eyes, wanted):
        """Wait for the withheld addresses, and see that all views agree."""
        self.eventually(lambda: self.withheld(eyes).keys() == wanted,
                        lambda: self.withheld(eyes))
        self.synchronise(eyes)
        self.assertEqual(views.timeless(views.fresh(eyes)),
                         views.timeless(eyes.look()))
        self.assertEqual(self.withheld(eyes).keys(), wanted)


class RowsTest(SelectionTestCase):

    def test_each_table(self):
        self.cloud.add_switch()
        eyes = self.eyes()
        for table, where, wanted, words in (
                ('NAT', {'external_ip': FIP}, {FIP}, 'NAT row'),
                ('Load_Balancer', {'name': 'pf-r1'}, {VIP},
                 'load balancer '),
                ('Logical_Router_Port', {'name': 'lrp-r1'}, {OWN},
                 'router port lrp-r1'),
                ('Logical_Router', {'name': 'neutron-r1'}, ALL,
                 'router neutron-r1'),
                ('Logical_Switch', {'name': 'neutron-public'}, ALL,
                 'network neutron-public')):
            self.mark(table, where, 'false')
            self.become(eyes, wanted)
            for reason in self.withheld(eyes).values():
                self.assertTrue(reason.startswith(words), reason)
                self.assertIn(f'{MARK}=false in its external_ids', reason)
            self.mark(table, where, None)
            self.become(eyes, set())

    def test_the_options_of_ovn(self):
        eyes = self.eyes()
        for table, where, wanted in (
                ('NAT', {'external_ip': FIP}, {FIP}),
                ('Load_Balancer', {'name': 'pf-r1'}, {VIP}),
                ('Logical_Router_Port', {'name': 'lrp-r1'}, {OWN})):
            self.cloud.say(table, where, options={NATIVE: 'false'})
            self.become(eyes, wanted)
            for reason in self.withheld(eyes).values():
                self.assertIn(f'{NATIVE}=false in its options', reason)
            # The word of the agent's own comes first.
            self.mark(table, where, 'true')
            self.become(eyes, set())
            self.mark(table, where, None)
            self.become(eyes, wanted)
            self.cloud.say(table, where, options={NATIVE: 'true'})
            self.become(eyes, set())

    def test_the_nearest_row_wins(self):
        self.cloud.add_switch()
        eyes = self.eyes()
        self.mark('Logical_Switch', {'name': 'neutron-public'}, 'false')
        self.mark('NAT', {'external_ip': FIP}, 'true')
        self.become(eyes, ALL - {FIP})
        self.mark('Logical_Router', {'name': 'neutron-r1'}, 'true')
        self.mark('NAT', {'external_ip': FIP}, 'false')
        self.become(eyes, {FIP})

    def test_an_address_of_several_rows(self):
        """One row is enough, as long as no other one speaks against it."""
        self.cloud.add_nat('r1', OWN, '10.0.1.0/24', 'snat')
        eyes = self.eyes()
        self.mark('NAT', {'logical_ip': '10.0.1.0/24'}, 'false')
        self.become(eyes, {OWN})
        self.mark('NAT', {'logical_ip': '10.0.0.0/24'}, 'true')
        self.become(eyes, set())

    def test_a_row_that_cannot_be_read(self):
        eyes = self.eyes()
        where = {'name': 'neutron-r1'}
        self.mark('Logical_Router', where, 'flase')
        self.eventually(lambda: eyes.router('r1').problems, 'told')
        self.become(eyes, set())
        problem, = eyes.router('r1').problems
        self.assertIn("router neutron-r1: external_ids:ovn-network-agent:"
                      "announce = 'flase' is neither true nor false", problem)
        # It was not announced before, and nothing is withdrawn in doubt.
        self.mark('NAT', {'external_ip': FIP}, 'ture')
        self.mark('Logical_Router', where, 'false')
        self.become(eyes, ALL - {FIP})
        self.assertEqual(1, len(eyes.router('r1').problems))

    def test_a_network_that_comes_late(self):
        """NB and SB are two servers."""
        eyes = self.eyes(announce__exclude_networks=['public'])
        self.become(eyes, set())
        self.cloud.add_switch()
        self.become(eyes, ALL)

    def test_another_network(self):
        self.cloud.add_switch()
        second = self.cloud.add_network()
        self.cloud.add_switch('second', second)
        self.cloud.add_port('r1', 'two', ['203.0.113.1/24'], HERE,
                            network=second)
        self.cloud.add_nat('r1', '203.0.113.10')
        eyes = self.eyes(announce__exclude_networks=['second'])
        self.become(eyes, {'203.0.113.1', '203.0.113.10'})
        self.mark('Logical_Switch', {'name': 'neutron-public'}, 'false')
        self.become(eyes, ALL | {'203.0.113.1', '203.0.113.10'})

    def test_nothing_else_changes(self):
        self.cloud.add_router('r2', ['198.51.100.2/24'], HERE,
                              mac='fa:16:3e:00:00:02')
        eyes = self.eyes()
        routers, others = eyes.look().routers, eyes.addresses('r2')
        before = eyes.addresses('r1')
        self.mark('NAT', {'external_ip': FIP}, 'false')
        self.become(eyes, {FIP})
        for one, other in zip(routers, eyes.look().routers, strict=True):
            self.assertIs(one, other)
        self.assertIs(others, eyes.addresses('r2'))
        self.assertEqual([FIP], [
            address for address, each in eyes.addresses('r1').items()
            if before[address] is not each])

    def test_options_of_a_router(self):
        """An update of Neutron leaves them, and nothing of external_ids."""
        router = {'name': 'neutron-r1'}
        eyes = self.eyes()
        self.cloud.say('Logical_Router', router, options={MARK: 'false'},
                       external_ids={MARK: 'true'})
        self.become(eyes, ALL)
        self.nb.transact(ovsdb.update(
            'Logical_Router', router, external_ids=ovsdb.ovsdb_dict({})))
        self.become(eyes, ALL)
        self.cloud.say('Logical_Router', router, options={MARK: None})
        self.become(eyes, set())


class OptionsTest(SelectionTestCase):

    def test_each_option(self):
        self.cloud.add_switch()
        for option, values, wanted in (
                ('exclude_cidrs', ['198.51.100.8/29'], {FIP, OTHER}),
                ('include_cidrs', ['198.51.100.8/29'], {OWN, VIP}),
                ('exclude_routers', ['r1'], ALL),
                ('exclude_routers', [self.router], ALL),
                ('include_routers', ['neutron-r1', 'r2'], set()),
                ('include_routers', ['r2'], ALL),
                ('exclude_networks', ['public'], ALL),
                ('include_networks', ['neutron-public'], set()),
                ('include_networks', ['private'], ALL)):
            eyes = self.eyes(**{'announce__' + option: values})
            self.assertEqual(wanted, self.withheld(eyes).keys(), option)
            eyes.stop()

    def test_a_change_counts_from_the_next_full_view_on(self):
        eyes = self.eyes()
        self.become(eyes, set())
        eyes.view._conf.set_override('exclude_cidrs', [FIP + '/32'],
                                     group='announce')
        eyes.look(full=True)
        self.assertEqual({FIP}, self.withheld(eyes).keys())
        eyes.view._conf.clear_override('exclude_cidrs', group='announce')
        eyes.look(full=True)
        self.assertEqual({}, self.withheld(eyes))


class RoutedByOvnTest(SelectionTestCase):
    """The option dynamic-routing of OVN 25.03."""

    def routed(self, eyes):
        router = eyes.router('r1')
        return (router.routed_by_ovn, bool(router.local_ports),
                any(port.routed_by_ovn for group in eyes.look().groups
                    for port in group.ports))

    def become_routed(self, eyes, routed):
        self.eventually(lambda: self.routed(eyes) == (
            routed, not routed, routed), lambda: self.routed(eyes))
        self.assertEqual(views.fresh(eyes).groups,
                         views.timeless(eyes.look()).groups)

    def answered(self, eyes):
        return {each.answered for each in eyes.addresses('r1').values()}

    def say(self, value):
        self.cloud.say('Logical_Router', {'name': 'neutron-r1'},
                       options={'dynamic-routing': value})

    def test_as_the_option_says(self):
        eyes = self.eyes()
        self.become_routed(eyes, False)
        self.say('true')
        self.become_routed(eyes, True)
        # Its addresses and ports are still known, for those who ask.
        self.assertEqual(dict.fromkeys(ALL, selection.BY_OVN),
                         self.withheld(eyes))
        self.assertEqual({False}, self.answered(eyes))
        self.assertTrue(eyes.router('r1').ports[0].local)
        self.say('false')
        self.become_routed(eyes, False)
        self.assertEqual({}, self.withheld(eyes))
        self.assertEqual({True}, self.answered(eyes))

    def test_both_announce_where_the_operator_says_so(self):
        self.say('true')
        eyes = self.eyes()
        self.become_routed(eyes, True)
        self.mark('Logical_Router', {'name': 'neutron-r1'}, 'true')
        self.become_routed(eyes, False)
        self.mark('Logical_Router', {'name': 'neutron-r1'}, 'false')
        self.become_routed(eyes, True)


class SchemaTest(base.OvsdbTestCase):
    """Databases that lack all of it."""

    schema_changes = {
        'nb': schemas.without(
            'NAT.external_ids', 'NAT.options', 'Logical_Router.options',
            'Logical_Router_Port.external_ids',
            'Logical_Router_Port.options', 'Logical_Switch'),
        'sb': schemas.without('Datapath_Binding.external_ids')}

    def test_everything_is_announced(self):
        # The helpers write columns that this schema lacks.
        self.nb.transact(*self.router())
        self.cloud._bind('lrp-r1', HERE, self.cloud.network)
        eyes = self.eyes(announce__exclude_networks=['public'])
        self.assertEqual({OWN: '', FIP: ''}, {
            address: each.withheld for address, each
            in eyes.addresses('r1').items()})
        self.assertFalse(eyes.router('r1').routed_by_ovn)

    def router(self):
        """The operations that make a router with a floating IP."""
        operations, fields = self.cloud._group('lrp-r1', 'Gateway_Chassis')
        insert = base.ovsdb.insert
        return [
            *operations,
            insert('NAT', 'nat', type='dnat_and_snat', external_ip=FIP,
                   logical_ip='10.0.0.5'),
            insert('Logical_Router_Port', 'lrp', name='lrp-r1',
                   mac='fa:16:3e:00:00:01', networks=OWN + '/24', **fields),
            insert('Logical_Router', name='neutron-r1',
                   ports=['named-uuid', 'lrp'], nat=['named-uuid', 'nat'])]
