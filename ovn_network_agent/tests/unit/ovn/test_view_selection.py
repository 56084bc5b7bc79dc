# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which addresses are withheld, and the tags of ports, from rows."""

from ovn_network_agent import ownership
from ovn_network_agent.model import selection
from ovn_network_agent.tests.functional.ovn import schemas
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds

HERE = clouds.HERE
MARK = 'ovn-network-agent:announce'
NATIVE = 'dynamic-routing-advertise'
OWN, FIP, OTHER, VIP = (f'198.51.100.{n}' for n in (1, 10, 11, 20))
ALL = {OWN, FIP, OTHER, VIP}
ROUTER = 'Logical_Router', {'name': 'neutron-r1'}
SWITCH = 'Logical_Switch', {'name': 'neutron-public'}
NAT = 'NAT', {'external_ip': FIP}
BALANCER = 'Load_Balancer', {'name': 'pf-r1'}
PORT = 'Logical_Router_Port', {'name': 'lrp-r1'}


class SelectionTestCase(clouds.CloudTestCase):

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

    def mark(self, row, value):
        self.cloud.say(*row, external_ids={MARK: value})

    def become(self, eyes, wanted, words=''):
        """Compare the withheld addresses, and the view with a new one.

        :param words: of all reasons
        """
        found = self.withheld(eyes)
        self.assertEqual(found.keys(), wanted)
        for reason in found.values():
            self.assertIn(words, reason)
        self.as_new(eyes)


class RowsTest(SelectionTestCase):

    def test_each_table(self):
        self.cloud.add_switch()
        eyes = self.eyes()
        for row, wanted, words in (
                (NAT, {FIP}, 'NAT row'), (BALANCER, {VIP}, 'load balancer '),
                (PORT, {OWN}, 'router port lrp-r1'),
                (ROUTER, ALL, 'router neutron-r1'),
                (SWITCH, ALL, 'network neutron-public')):
            self.mark(row, 'false')
            self.become(eyes, wanted, f'{MARK}=false in its external_ids')
            self.assertEqual([], [
                reason for reason in self.withheld(eyes).values()
                if not reason.startswith(words)])
            self.mark(row, None)
            self.become(eyes, set())

    def test_the_options_of_ovn(self):
        eyes = self.eyes()
        for row, wanted in ((NAT, {FIP}), (BALANCER, {VIP}), (PORT, {OWN})):
            self.cloud.say(*row, options={NATIVE: 'false'})
            self.become(eyes, wanted, f'{NATIVE}=false in its options')
            # The word of the agent's own comes first.
            self.mark(row, 'true')
            self.become(eyes, set())
            self.mark(row, None)
            self.become(eyes, wanted)
            self.cloud.say(*row, options={NATIVE: 'true'})
            self.become(eyes, set())

    def test_which_row_wins(self):
        """The nearest one; one row is enough if no other speaks against it.
        """
        self.cloud.add_switch()
        self.cloud.add_nat('r1', OWN, '10.0.1.0/24', 'snat')
        eyes = self.eyes()
        for row, word, wanted in (
                (SWITCH, 'false', ALL), (NAT, 'true', ALL - {FIP}),
                (ROUTER, 'true', set()), (NAT, 'false', {FIP}),
                (('NAT', {'logical_ip': '10.0.1.0/24'}), 'false', {FIP, OWN}),
                (('NAT', {'logical_ip': '10.0.0.0/24'}), 'true', {FIP})):
            self.mark(row, word)
            self.become(eyes, wanted)

    def test_a_row_that_cannot_be_read(self):
        eyes = self.eyes()
        self.mark(ROUTER, 'flase')
        self.become(eyes, set())
        problem, = eyes.router('r1').problems
        self.assertIn("router neutron-r1: external_ids:ovn-network-agent:"
                      "announce = 'flase' is neither true nor false", problem)
        # It was not announced before, and nothing is withdrawn in doubt.
        self.mark(NAT, 'ture')
        self.mark(ROUTER, 'false')
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
        there = {'203.0.113.1', '203.0.113.10'}
        self.become(eyes, there)
        self.mark(SWITCH, 'false')
        self.become(eyes, ALL | there)

    def test_nothing_else_changes(self):
        self.cloud.add_router('r2', ['198.51.100.2/24'], HERE,
                              mac='fa:16:3e:00:00:02')
        eyes = self.eyes()
        routers, others = eyes.look().routers, eyes.addresses('r2')
        before = eyes.addresses('r1')
        self.mark(NAT, 'false')
        self.become(eyes, {FIP})
        for one, other in zip(routers, eyes.look().routers, strict=True):
            self.assertIs(one, other)
        self.assertIs(others, eyes.addresses('r2'))
        self.assertEqual([FIP], [
            address for address, each in eyes.addresses('r1').items()
            if before[address] is not each])

    def test_options_of_a_router(self):
        """An update of Neutron leaves them, and nothing of external_ids."""
        eyes = self.eyes()
        self.cloud.say(*ROUTER, options={MARK: 'false'},
                       external_ids={MARK: 'true'})
        self.become(eyes, ALL)
        self.nb.update(*ROUTER, external_ids={})
        self.become(eyes, ALL)
        self.cloud.say(*ROUTER, options={MARK: None})
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

    def test_a_change_counts_from_the_next_full_view_on(self):
        eyes = self.eyes()
        for values, wanted in (([], set()), ([FIP + '/32'], {FIP}),
                               ([], set())):
            eyes.view._conf.set_override('exclude_cidrs', values,
                                         group='announce')
            eyes.look(full=True)
            self.assertEqual(wanted, self.withheld(eyes).keys())


class RoutedByOvnTest(SelectionTestCase):
    """The option dynamic-routing of OVN 25.03."""

    def become_routed(self, eyes, routed):
        router = eyes.router('r1')
        self.assertEqual((routed, not routed, {routed}), (
            router.routed_by_ovn, bool(router.local_ports),
            {port.routed_by_ovn for group in eyes.look().groups
             for port in group.ports}))
        self.assertEqual(views.fresh(eyes).groups,
                         views.timeless(eyes.look()).groups)

    def say(self, value):
        self.cloud.say(*ROUTER, options={'dynamic-routing': value})

    def test_as_the_option_says(self):
        eyes = self.eyes()
        self.become_routed(eyes, False)
        # Its addresses and ports are still known, for those who ask.
        for value, routed, withheld in (
                ('true', True, dict.fromkeys(ALL, selection.BY_OVN)),
                ('false', False, {})):
            self.say(value)
            self.become_routed(eyes, routed)
            self.assertEqual(withheld, self.withheld(eyes))
            self.assertEqual({not routed}, {
                each.answered for each in eyes.addresses('r1').values()})
            self.assertTrue(eyes.router('r1').ports[0].local)

    def test_both_announce_where_the_operator_says_so(self):
        self.say('true')
        eyes = self.eyes()
        for word, routed in ((None, True), ('true', False), ('false', True)):
            self.mark(ROUTER, word)
            self.become_routed(eyes, routed)


class SchemaTest(clouds.CloudTestCase):
    """Databases that lack all of it."""

    schema_changes = {
        'nb': schemas.without(
            'NAT.external_ids', 'NAT.options', 'Logical_Router.options',
            'Logical_Router_Port.external_ids',
            'Logical_Router_Port.options', 'Logical_Switch'),
        'sb': schemas.without('Datapath_Binding.external_ids')}

    def test_everything_is_announced(self):
        # The helpers write columns that this schema lacks.
        steps, fields = self.cloud._group('lrp-r1', 'Gateway_Chassis')
        self.nb.transact(
            *steps,
            ovsdb.insert('NAT', 'nat', type='dnat_and_snat', external_ip=FIP,
                         logical_ip='10.0.0.5'),
            ovsdb.insert('Logical_Router_Port', 'lrp', name='lrp-r1',
                         mac='fa:16:3e:00:00:01', networks=OWN + '/24',
                         **fields),
            ovsdb.insert('Logical_Router', name='neutron-r1',
                         ports=['named-uuid', 'lrp'],
                         nat=['named-uuid', 'nat']))
        self.cloud._bind('lrp-r1', HERE, self.cloud.network)
        eyes = self.eyes(announce__exclude_networks=['public'])
        self.assertEqual({OWN: '', FIP: ''}, {
            address: each.withheld for address, each
            in eyes.addresses('r1').items()})
        self.assertFalse(eyes.router('r1').routed_by_ovn)


ONE, TWO, THREE = (ownership.TAGS.start + n for n in (1, 2, 3))


class TagsTest(clouds.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_switch()

    def say(self, row, value):
        self.cloud.say(*row, external_ids={
            ownership.EXT_ID_TAG: None if value is None else str(value)})

    def become(self, eyes, tag, **others):
        """Compare the tags, and the view with a new one."""
        self.assertEqual({'lrp-r1': tag, **others}, {
            port.lrp: port.tag for port in eyes.router('r1').ports})
        self.as_new(eyes, lambda seen: seen.routers)

    def test_rows(self):
        eyes = self.eyes()
        self.become(eyes, None)
        for row, value, tag in (
                (SWITCH, ONE, ONE), (ROUTER, TWO, TWO), (SWITCH, THREE, TWO),
                (ROUTER, 0, None), (ROUTER, None, THREE),
                (SWITCH, None, None)):
            self.say(row, value)
            self.become(eyes, tag)

    def test_a_tag_that_cannot_be_read(self):
        eyes = self.eyes()
        self.say(SWITCH, ONE)
        self.say(ROUTER, 5)
        self.become(eyes, ONE)
        problem, = eyes.router('r1').problems
        self.assertIn("router neutron-r1: external_ids:ovn-network-agent:tag "
                      "= '5' is not a tag", problem)

    def test_options(self):
        for option, value in (('router_tags', f'r1:{ONE}'),
                              ('router_tags', f'neutron-r1:{ONE}'),
                              ('network_tags', f'public:{ONE}')):
            eyes = self.eyes(**{'announce__' + option: [value]})
            for word, tag in ((None, ONE), (TWO, TWO), (None, ONE)):
                self.say(SWITCH, word)
                self.become(eyes, tag)

    def test_each_network_its_own(self):
        second = self.cloud.add_network()
        self.cloud.add_switch('second', second)
        self.cloud.add_port('r1', 'two', ['203.0.113.1/24'], HERE,
                            network=second)
        eyes = self.eyes(announce__network_tags=[f'second:{TWO}'])
        self.say(SWITCH, ONE)
        self.become(eyes, ONE, **{'lrp-two': TWO})
