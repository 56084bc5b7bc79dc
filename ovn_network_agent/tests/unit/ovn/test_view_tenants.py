# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Networks of tenants in the view."""

import dataclasses
import random

from ovn_network_agent import model
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds

HERE, AWAY = clouds.HERE, clouds.AWAY
NET, OTHER, SIX = '10.0.0.0/24', '10.0.1.0/24', '2001:db8:1::/64'
FIVE = '10.0.0.5/32'
ANNOUNCE = 'ovn-network-agent:announce'
SCOPE, ELSE = (f'{digit * 8}-2222-4333-8444-555555555555' for digit in '34')
Claim = model.Claim


def unclaimed(seen):
    """A view without who was first, which nobody new knows."""
    return dataclasses.replace(seen, tenants={
        uuid: {name: each._replace(claim=Claim.UNCONTESTED)
               for name, each in known.items()}
        for uuid, known in seen.tenants.items()})


def claims(eyes):
    """How the networks of routers stand, by short name of the router."""
    return {each.called.partition(' ')[0]: each.claim
            for known in eyes.look().tenants.values()
            for each in known.values()}


class TenantsTestCase(clouds.CloudTestCase):
    """A router here with a provider network."""

    like = staticmethod(lambda seen: seen)

    def setUp(self):
        super().setUp()
        self.cloud.add_switch()
        self.cloud.add_router('r1', chassis=HERE, networks=(
            '198.51.100.1/24', '2001:db8::1/64'))

    def eyes(self, drivers=('tenant_network',), **options):
        return super().eyes(drivers=[*drivers], **options)

    @staticmethod
    def found(eyes):
        return clouds.flat(eyes.look().tenants)

    def become(self, eyes, *wanted):
        """Compare the announced prefixes, and the view with a new one."""
        found = self.found(eyes)
        self.assertEqual(set(wanted), {
            name for name, each in found.items() if each.announced})
        self.as_new(eyes, self.like)
        return found


class TenantsTest(TenantsTestCase):

    def test_a_network_comes_and_goes(self):
        eyes = self.eyes()
        self.become(eyes)
        self.cloud.add_tenant('r1', 'net', '10.0.0.1/24')
        found = self.become(eyes, NET)[NET]
        self.assertEqual(
            ('r1 (neutron-r1)', NET, 'net', 'lrp-r1', '198.51.100.1', None,
             '', '', (), Claim.UNCONTESTED),
            (found.called, found.subnet, found.network, found.port.lrp,
             found.via, found.tag, found.withheld, found.claimed,
             found.rivals, found.claim))
        self.cloud.add_tenant('r1', 'more', '10.0.1.1/24')
        self.assertIs(found, self.become(eyes, NET, OTHER)[NET])
        before = eyes.look().tenants
        self.cloud.add_nat('r1', '198.51.100.7')
        self.assertIn('198.51.100.7', eyes.addresses('r1'))
        self.assertIs(before, eyes.look().tenants)
        self.cloud.remove_tenant('r1', 'net')
        self.become(eyes, OTHER)

    def test_the_gateway_moves(self):
        self.cloud.add_tenant('r1', 'net', '10.0.0.1/24')
        eyes = self.eyes()
        self.become(eyes, NET)
        self.cloud.move('lrp-r1', AWAY)
        self.assertFalse(any(each.port.local
                             for each in self.found(eyes).values()))
        group, = eyes.look().groups
        self.assertEqual((NET,), group.ports[0].routed)
        # The withdrawal guard does not hold what another node has.
        for subject, away in ((NET, True), (OTHER, False),
                              ('198.51.100.9/32', False)):
            self.assertEqual(away, eyes.view.cross_check.elsewhere(subject))
        self.cloud.move('lrp-r1', HERE)
        self.become(eyes, NET)

    def test_snat(self):
        """A row that covers the network, or is inside of it."""
        self.cloud.add_tenant('r1', 'net', '10.0.0.1/24', '10.0.1.1/24')
        eyes = self.eyes()
        self.become(eyes, NET, OTHER)
        for logical, left in (('10.0.0.7', {OTHER}), ('0.0.0.0/0', ()),
                              ('10.0.0.0/23', ()), ('10.0.1.0/24', {NET})):
            self.cloud.add_nat('r1', '198.51.100.1', logical, 'snat')
            for name, each in self.become(eyes, *left).items():
                self.assertEqual(name not in left, '(SNAT)' in each.withheld)
            self.cloud.remove_nat('r1', '198.51.100.1')
            self.become(eyes, NET, OTHER)
        self.cloud.add_nat('r1', '198.51.100.1', '10.0.0.0/24', 'snat')
        self.become(self.eyes(tenant_network__require_snat_disabled=False),
                    NET, OTHER)

    def test_address_scopes(self):
        for number, scopes in enumerate((
                [(4, SCOPE)], [(4, ELSE), (6, SCOPE)], [])):
            self.cloud.add_tenant('r1', f'net{number}',
                                  f'10.0.{number}.1/24', scopes=scopes)
        eyes = self.eyes(tenant_network__address_scopes=[SCOPE])
        found = self.become(eyes, NET)
        self.assertIn(ELSE, found[OTHER].withheld)
        self.assertIn('it has no address scope', found['10.0.2.0/24'].withheld)
        self.sb.update('Port_Binding', {
            'logical_port': self.cloud.ports['lrp-r1-net0']}, external_ids={})
        self.become(eyes)
        self.become(self.eyes(), NET, OTHER, '10.0.2.0/24')

    def test_ipv6(self):
        self.cloud.add_tenant('r1', 'net', '2001:db8:1::1/64', 'fd00::1/64',
                              'fe80::1/64')
        self.become(self.eyes())
        found = self.become(self.eyes(tenant_network__expose_ipv6_gua=True),
                            SIX)
        self.assertEqual('2001:db8::1', found[SIX].via)
        self.assertEqual('its addresses are not global',
                         found['fd00::/64'].withheld)
        self.assertNotIn('fe80::/64', found)

    def test_networks_that_are_none(self):
        self.cloud.add_tenant('r1', 'net', '10.0.0.1/24', '0.0.0.0/0', 'x/24',
                              '10.0.0.0/4', '224.0.0.1/24', '127.0.0.1/8')
        eyes = self.eyes()
        self.become(eyes, NET)
        remedy = 'and left out; give it the prefix of its subnet'
        self.assertEqual([
            f'Logical_Router_Port lrp-r1-net: network {text}' for text in (
                f"'0.0.0.0/0' is everything {remedy}",
                f"'10.0.0.0/4' is too wide {remedy}",
                f"'127.0.0.1/8' is of no hosts {remedy}",
                f"'224.0.0.1/24' is of no hosts {remedy}",
                "'x/24' is malformed")], sorted(eyes.look().problems))

    def test_what_nodes_send_to(self):
        """Tunnels of chassis, and servers of OVN."""
        for name, network in (('net', '10.0.0.1/24'),
                              ('tunnels', '192.0.2.3/30'),
                              ('servers', '10.1.0.1/24')):
            self.cloud.add_tenant('r1', name, network)
        self.cloud.add_static_route('r1', '192.0.0.0/16', '10.0.0.9')
        found = self.become(self.eyes(
            tenant_network__extra_routes=True,
            ovn__ovn_nb_remote=['tcp:10.1.0.5:6641']), NET)
        for prefix, address in (('192.0.2.0/30', '192.0.2.1'),
                                ('192.0.0.0/16', '192.0.2.1'),
                                ('10.1.0.0/24', '10.1.0.5')):
            self.assertEqual(
                f'{address} is of a tunnel or server of OVN, which this node '
                'could not reach any more', found[prefix].withheld)

    def test_words_of_rows_and_options(self):
        self.cloud.add_tenant('r1', 'net', '10.0.0.1/24')
        eyes = self.eyes(announce__exclude_cidrs=['10.0.0.0/16'],
                         announce__network_tags=['net:4400001'])
        found = self.become(eyes)[NET]
        self.assertEqual(('[announce] exclude_cidrs has 10.0.0.0/16', 4400001),
                         (found.withheld, found.tag))
        for table, name in (('Logical_Router_Port', 'lrp-r1-net'),
                            ('Logical_Router', 'neutron-r1'),
                            ('Logical_Switch', 'neutron-net')):
            for word, wanted in (('true', [NET]), (None, [])):
                self.cloud.say(table, {'name': name},
                               external_ids={ANNOUNCE: word})
                self.become(eyes, *wanted)
        self.become(self.eyes(announce__exclude_networks=['net']))
        # A part of the network is not the network.
        self.become(self.eyes(announce__exclude_cidrs=['10.0.0.0/25']), NET)

    def test_extra_routes(self):
        """Those with a next hop in a network that is announced."""
        self.cloud.add_tenant('r1', 'net', '10.0.0.1/24')
        self.cloud.add_router('r2', chassis=HERE)
        self.cloud.add_tenant('r2', 'theirs', '10.8.0.1/24')
        for prefix, nexthop, more in (
                ('10.7.0.0/24', '10.0.0.9', {}),
                ('10.7.1.0/24', '10.9.0.9', {}), ('x', '10.0.0.9', {}),
                ('10.7.2.0/24', '10.0.0.9', {'route_table': 'other'}),
                ('10.7.3.0/24', '10.0.0.9', {'policy': 'src-ip'}),
                ('0.0.0.0/0', '10.0.0.9', {}),
                ('10.8.0.0/25', '10.0.0.9', {})):
            self.cloud.add_static_route('r1', prefix, nexthop, **more)
        self.become(self.eyes(), NET, '10.8.0.0/24')
        eyes = self.eyes(tenant_network__extra_routes=True)
        found = self.found(eyes)
        self.assertEqual({NET, '10.7.0.0/24', '10.8.0.0/24', '10.8.0.0/25'},
                         found.keys())
        self.assertEqual(('net', '10.7.0.0/24', Claim.UNCONTESTED), (
            found['10.7.0.0/24'].network, found['10.7.0.0/24'].subnet,
            found['10.7.0.0/24'].claim))
        for prefix, rival in (('10.8.0.0/25', '10.8.0.0/24 of router r2'),
                              ('10.8.0.0/24', '10.8.0.0/25 of router r1')):
            self.assertEqual(Claim.UNKNOWN, found[prefix].claim)
            self.assertIn(rival, found[prefix].rivals[0])
        self.cloud.remove_tenant('r1', 'net')
        self.become(eyes, '10.8.0.0/24')

    def test_the_other_end_is_a_router(self):
        self.cloud.add_tenant('r1', 'net', '10.0.0.1/24', bind=False)
        eyes = self.eyes()
        self.become(eyes)
        self.cloud._add_binding(self.cloud.add_network(), 'lrp-x', 'patch',
                                options=ovsdb.ovsdb_map(peer='lrp-r1-net'))
        self.become(eyes)

    def test_a_provider_network(self):
        """No tenant takes a part of it."""
        self.cloud.add_tenant('r1', 'net', '198.51.100.129/25')
        found = self.become(self.eyes())['198.51.100.128/25']
        self.assertEqual('r1 (neutron-r1)', found.claimed)

    def test_off_costs_no_index(self):
        self.cloud.add_tenant('r1', 'net', '10.0.0.1/24')
        eyes = clouds.CloudTestCase.eyes(self)
        self.assertEqual({}, eyes.look().tenants)
        self.assertNotIn('network', eyes.view._builder._rows._indexes[
            'nb', 'Logical_Router_Port'])

    def test_a_random_history(self):
        """The view is always the one that somebody new would have."""
        chance = random.Random(7)
        eyes = self.eyes(tenant_network__expose_ipv6_gua=True)
        self.cloud.add_router('r2', chassis=HERE)
        there = set()
        for _step in range(40):
            router, name = chance.choice(('r1', 'r2')), chance.choice('abc')
            if (router, name) in there and chance.random() < .5:
                self.cloud.remove_tenant(router, name)
                there.discard((router, name))
            elif (router, name) not in there:
                self.cloud.add_tenant(router, name, chance.choice((
                    '10.0.0.1/24', '10.0.0.1/25', '10.0.0.129/25',
                    '10.0.1.1/24', '10.0.0.1/16', '2001:db8:1::1/64')))
                there.add((router, name))
            elif chance.random() < .3:
                self.cloud.move(f'lrp-{router}', chance.choice((HERE, AWAY)))
            elif chance.random() < .5:
                self.cloud.remove_nat(router, '198.51.100.1')
            else:
                self.cloud.add_nat(router, '198.51.100.1', chance.choice((
                    '10.0.0.9', '10.0.0.0/16', '10.0.1.0/24')), 'snat')
            self.as_new(eyes, unclaimed)


class OverlapTest(TenantsTestCase):
    """A second router with the same prefix, or a part of it."""

    like = staticmethod(unclaimed)

    def claims(self, eyes, **wanted):
        self.assertEqual(wanted, claims(eyes))

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r2', chassis=HERE)
        self.cloud.add_tenant('r1', 'net', '10.0.0.1/24')

    def test_the_first_one_stays(self):
        eyes = self.eyes()
        self.claims(eyes, r1=Claim.UNCONTESTED)
        self.cloud.add_tenant('r2', 'theirs', '10.0.0.129/25')
        self.claims(eyes, r1=Claim.FIRST, r2=Claim.REFUSED)
        found = self.found(eyes)
        self.assertEqual(
            (('10.0.0.128/25 of router r2 (neutron-r2)',),
             ('10.0.0.0/24 of router r1 (neutron-r1)',)),
            (found[NET].rivals, found['10.0.0.128/25'].rivals))
        self.become(eyes, NET)
        # Also where its gateway may come to.
        self.cloud.move('lrp-r1', AWAY)
        eyes.look()
        self.cloud.move('lrp-r1', HERE)
        self.claims(eyes, r1=Claim.FIRST, r2=Claim.REFUSED)
        self.cloud.remove_tenant('r1', 'net')
        self.claims(eyes, r2=Claim.UNCONTESTED)
        self.cloud.add_tenant('r1', 'net', '10.0.0.1/24')
        self.claims(eyes, r1=Claim.REFUSED, r2=Claim.FIRST)

    def test_a_router_elsewhere(self):
        eyes = self.eyes()
        self.claims(eyes, r1=Claim.UNCONTESTED)
        self.cloud.add_router('r3', chassis=None)
        self.cloud.add_tenant('r3', 'theirs', '10.0.0.1/16')
        self.claims(eyes, r1=Claim.FIRST)
        self.assertEqual(1, len(self.found(eyes)[NET].rivals))
        self.cloud.add_nat('r3', '198.51.100.3', '10.0.0.0/16', 'snat')
        self.claims(eyes, r1=Claim.UNCONTESTED)

    def test_nobody_knows_at_the_start(self):
        self.cloud.add_tenant('r2', 'theirs', '10.0.0.1/24')
        eyes = self.eyes()
        self.claims(eyes, r1=Claim.UNKNOWN, r2=Claim.UNKNOWN)
        # Another network changes nothing.
        self.cloud.add_tenant('r2', 'more', '10.9.0.1/24')
        self.assertIs(Claim.UNKNOWN,
                      self.become(eyes, NET, '10.9.0.0/24')[NET].claim)
        # The conflict is another one.
        self.cloud.add_router('r3', chassis=None)
        self.cloud.add_tenant('r3', 'third', '10.0.0.1/26')
        self.become(eyes, '10.9.0.0/24')
        for name, net in ('r3', 'third'), ('r2', 'theirs'):
            self.cloud.remove_tenant(name, net)
        self.become(eyes, NET, '10.9.0.0/24')


class HostsTest(TenantsTestCase):
    """Single addresses of machines, wherever these are."""

    def setUp(self):
        super().setUp()
        self.network = self.cloud.add_tenant('r1', 'net', '10.0.0.1/24')
        self.add('vm-1', '10.0.0.5')

    def add(self, port, *addresses, chassis=AWAY, kind='', **row):
        self.cloud.add_machine(
            port, chassis, kind, network=row.pop('network', self.network),
            mac=[' '.join(('fa:16:3e:00:00:aa', *addresses))], **row)

    def eyes(self, method='host', **options):
        return super().eyes(tenant_network__advertisement_method=method,
                            **options)

    def test_machines_come_and_go(self):
        eyes = self.eyes()
        found = self.become(eyes, FIVE)[FIVE]
        self.assertEqual((NET, '198.51.100.1', 'net'),
                         (found.subnet, found.via, found.network))
        self.add('vm-2', '10.0.0.6', '192.0.2.1', chassis=HERE)
        self.assertIs(found, self.become(eyes, FIVE, '10.0.0.6/32')[FIVE])
        self.cloud.move_machine('vm-2', AWAY, up=False)
        self.become(eyes, FIVE)
        self.add('vm-3', '10.0.0.7', kind='virtual', virtual_parent='vm-1')
        self.add('vm-4', '10.0.0.8', kind='localport')
        self.become(eyes, FIVE, '10.0.0.7/32')
        self.cloud.add_nat('r1', '198.51.100.1', '10.0.0.0/24', 'snat')
        self.assertEqual({NET}, self.become(eyes).keys())

    def test_a_floating_ip(self):
        eyes = self.eyes()
        self.become(eyes, FIVE)
        self.cloud.add_nat('r1', '198.51.100.9')
        self.assertEqual('its answers leave with its floating IP '
                         '198.51.100.9', self.become(eyes)[FIVE].withheld)
        self.cloud.remove_nat('r1', '198.51.100.9')
        self.become(eyes, FIVE)

    def test_words_and_options(self):
        self.add('vm-2', '10.0.0.200')
        self.become(self.eyes(announce__include_cidrs=['10.0.0.0/25']), FIVE)
        self.become(self.eyes(announce__exclude_networks=['net']))
        eyes = self.eyes()
        self.become(eyes, FIVE, '10.0.0.200/32')
        self.sb.update('Port_Binding', {'logical_port': 'vm-1'},
                       external_ids={ANNOUNCE: 'false'})
        self.become(eyes, '10.0.0.200/32')

    def test_only_rows_of_the_networks(self):
        """With subnets, no machine's row is here."""
        self.add('vm-9', '10.0.0.9', network=self.cloud.add_network())
        for method, ports in (('host', {'vm-1'}), ('subnet', set())):
            eyes = self.eyes(method)
            eyes.look()
            rows = eyes.rows('sb', 'Port_Binding')
            self.assertEqual(ports, {row.logical_port for row in rows
                                     if row.type == ''})
            self.assertEqual(method == 'host', 'mac' in rows[0]._data)
