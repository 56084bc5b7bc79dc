# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the driver egress_ip wants, and what a node translates itself."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.nft import egress
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.drivers import base

A, B = '11111111-1111-4111-8111-111111111111', '2' * 8 + '-2222-4222-8222-' + (
    '2' * 12)
E, E2, M, M2 = '198.51.100.50', '203.0.113.50', '10.0.1.5', '10.0.1.6'
SET = 'ona_egress_shop_1_{}_{}_ip4'


def set_name(what, router=A):
    return SET.format(router.replace('-', '_'), what)


def place(router=A, address=E, **values):
    return model.EgressPlace(**{
        'router': router, 'called': f'r-{router[0]}', 'port': '',
        'chassis': '', 'family': 6 if ':' in address else 4,
        'address': address, **values})


def subject(*places, machines=((M, A), (M2, A)), mode='router', **values):
    return model.EgressIp(**{
        'name': 'shop-1', 'mode': model.EgressMode(mode), 'addresses': (E,),
        'places': places, 'machines': tuple(
            model.EgressMachine('port', address, router, *why)
            for address, router, *why in machines), **values})


class EgressIpTest(base.DriverTestCase):

    name, options = 'egress_ip', {'drivers': ['egress_ip']}

    def test_mode_router(self):
        nat = resources.EgressNat
        self.assertEqual(
            [resources.EgressRows('shop-1', A, (nat(M, E), nat(M2, E)))],
            self.wanted(subject(place(), machines=[
                (M, A), (M2, A), (M, B), ('10.0.1.7', A, 'it is so')])))
        # Another family, another router, and one of several ports.
        v6 = '2001:db8::50'
        self.assertEqual(
            [resources.EgressRows('shop-1', A, (nat(M, E), nat('fd00::5',
                                                               v6))),
             resources.EgressRows('shop-1', B, (nat(M, E2, 'lrp-2'),))],
            self.wanted(subject(
                place(), place(address=v6),
                place(B, E2, port='lrp-2'),
                machines=[('fd00::5', A), (M, A), (M, B)])))

    def test_destinations(self):
        found, = self.wanted(subject(place(), destinations=(
            '203.0.113.0/24', '192.0.2.0/24', '2001:db8::/32')))
        self.assertEqual(
            ((set_name('to'), ('192.0.2.0/24', '203.0.113.0/24')),),
            found.address_sets)
        self.assertEqual({set_name('to')},
                         {nat.destinations for nat in found.nats})

    def test_mode_ecmp(self):
        inside = ('10.0.1.0/24', '198.51.100.0/24')
        places = [place(port='lrp-1', nexthop='198.51.100.254',
                        inner_networks=inside),
                  place(address=E2, port='lrp-2', nexthop='203.0.113.254',
                        inner_networks=inside),
                  place(address='', family=4, port='lrp-3', why='it is so')]
        problem, found = self.wanted(subject(*places, mode='ecmp'),
                                     egress_ip__policy_priority=70)
        self.assertEqual('egress address shop-1: router r-1 (lrp-3) has none '
                         'of IPv4: it is so', problem.text)
        self.assertEqual([(M, E, 'lrp-1'), (M, E2, 'lrp-2'),
                          (M2, E, 'lrp-1'), (M2, E2, 'lrp-2')], [
            (nat.machine, nat.external, nat.port) for nat in found.nats])
        self.assertEqual(((set_name('from'), (M, M2)),), found.address_sets)
        match = f'ip4.src == ${set_name("from")}'
        self.assertEqual((
            resources.EgressPolicy(69, match, ('198.51.100.254',
                                               '203.0.113.254')),
            resources.EgressPolicy(70, f'{match} && ip4.dst == '
                                   '{10.0.1.0/24, 198.51.100.0/24}')),
            found.policies)
        found, = self.wanted(subject(*places[:2], mode='ecmp',
                                     destinations=('192.0.2.0/24',)))
        self.assertEqual(f'{match} && ip4.dst == ${set_name("to")}',
                         found.policies[0].match)

    def test_mode_host(self):
        found, = self.wanted(subject(place(chassis='c1'), mode='host'))
        self.assertEqual([(M, M, E, 'c1'), (M2, M2, E, 'c1')], [
            (nat.machine, nat.external, nat.address, nat.chassis)
            for nat in found.nats])

    def test_problems(self):
        for found, part in (
                (subject(why='it is so'), 'egress address shop-1: it is so'),
                (subject(problems=('one', 'two')), 'shop-1: one')):
            self.assertIn(part, self.wanted(found)[0].text)
        problem, = self.wanted(subject(place(address='', why='it is so')))
        self.assertEqual(A, problem.router)

    def test_a_stop_leaves_the_rows(self):
        stopped = cloud.node(phase=model.Phase.STOPPED)
        for found in (subject(place()),
                      subject(place(chassis='other'), mode='host')):
            ref = self.wanted(found)[0].ref
            self.assertEqual([resources.Keep(ref, foreign=True)],
                             self.wanted(found, stopped))
            gone, = self.wanted(found, stopped,
                                egress_ip__cleanup_on_stop=True)
            self.assertEqual(ref, gone.ref)
        # What this node translates ends with it.
        own = self.wanted(subject(place(chassis=stopped.chassis), mode='host'),
                          stopped)
        self.assertIsInstance(own[0], resources.EgressRows)


EGRESS, MACHINE, VIA = '203.0.113.77', '10.0.1.9', '198.51.100.1'
TABLE, WAY_BACK = ownership.EGRESS_TABLES[7], ownership.EGRESS_BACK_TABLE
LINK = model.Link('eth1', 7, resources.MAIN_TABLE,
                  addresses=('2001:db8:7::5/64', '203.0.113.5/24'),
                  routes=(('0.0.0.0/0', '203.0.113.1'),
                          ('2001:db8:8::/64', 'fe80::1'),
                          ('203.0.113.0/24', '')))


def host(**values):
    return model.EgressHost(**{
        'name': 'firewall', 'address': EGRESS, 'chassis': cloud.CHASSIS,
        'machine': MACHINE, 'router': 'r-1', 'called': 'router one',
        'port': 'lrp-1', 'mac': 'fa:16:3e:00:00:01', 'via': VIA,
        'segments': (('physnet0', 0), ('physnet1', 7)), **values})


def drop(source=MACHINE + '/32', device='br-ex.7'):
    return resources.EgressDrop(ownership.EGRESS_DROP, resources.BLACKHOLE,
                                src=source, iif=device)


class EgressHostTest(base.DriverTestCase):

    name = 'egress_ip'
    options = {'drivers': ['egress_ip'], 'frr__vrf_name': ''}

    def wanted(self, subject=None, links=(LINK,), options=None, **node):
        node = cloud.node(links=links, egress=True, **node)
        return super().wanted(subject or node, node, **(options or {}))

    def problem(self, subject=None, **values):
        """What is wanted beside the drop: nothing but the reason."""
        kept, problem = self.wanted(subject or host(**values))
        self.assertEqual(drop(), kept)
        self.assertEqual((MACHINE,), problem.addresses)
        return problem.text

    def test_ipv4(self):
        found = self.wanted(host())
        self.assertEqual([
            drop(),
            resources.EgressMachine('ip', MACHINE, 'eth1'),
            resources.EgressSource('ip', MACHINE, 'eth1', EGRESS),
            resources.EgressHeld('ip', EGRESS),
            resources.EgressAddress('eth1', EGRESS + '/32'),
            resources.Sysctl('net/ipv4/conf/eth1/forwarding', '1'),
            resources.Rule(ownership.EGRESS_BACK, WAY_BACK,
                           dst=MACHINE + '/32', iif='eth1'),
            resources.EgressRoute(TABLE, '0.0.0.0/0', 'eth1', '203.0.113.1'),
            resources.EgressRoute(TABLE, '203.0.113.0/24', 'eth1'),
            resources.Rule(ownership.EGRESS_OUT, TABLE, src=MACHINE + '/32',
                           iif='br-ex.7'),
            resources.Neighbour('br-ex.7', VIA, '',
                                lladdr='fa:16:3e:00:00:01'),
            resources.EgressRoute(WAY_BACK, MACHINE + '/32', 'br-ex.7', VIA)],
            found)

    def test_what_drops_is_first_and_last(self):
        found = {each.kind: each for each in self.wanted(host())}
        guards = [each.ref for each in found.values()
                  if each.stage is resources.Stage.GUARD]
        self.assertEqual(3, len(guards))
        guards += [each.ref for each in self.answers()
                   if each.ref == resources.Ref('egress_table', ('ip',))]
        out, = (each for each in self.wanted(host())
                if each.stage is resources.Stage.RULE and each.src)
        self.assertCountEqual(guards, out.requires)
        # Nobody answers at the address from its first moment on.
        self.assertEqual((found['egress_held'].ref,),
                         found['egress_address'].requires)

    def answers(self):
        """What answers need on a node with the link."""
        return [each for each in self.wanted()
                if not isinstance(each, resources.EgressNetworks)]

    def test_answers_find_their_way_while_there_are_connections(self):
        """Those to a machine that leaves here no longer are dropped."""
        mark = (ownership.MARK_EGRESS, ownership.MARK_EGRESS)
        wanted = []
        for family, ipv6 in (('ip', None), ('ip6', True)):
            wanted += [
                resources.EgressTable(family, egress.digest(family)),
                resources.EgressDrop(ownership.EGRESS_DROP,
                                     resources.BLACKHOLE, fwmark=mark,
                                     ipv6=ipv6),
                resources.Rule(ownership.EGRESS_BACK, WAY_BACK, fwmark=mark,
                               ipv6=ipv6)]
        self.assertCountEqual(wanted, self.answers())
        source, = self.of(resources.EgressSource, host())
        self.assertLess({each.ref for each in wanted[:3]}, {*source.requires})
        self.assertEqual((wanted[1].ref,), next(
            each for each in self.answers()
            if each.ref == wanted[2].ref).requires)

    def test_rp_filter_finds_the_way_back(self):
        """Before packets of strangers do, there is what drops them."""
        for vrf in ('', 'vrf-provider'):
            back, = (each for each in self.of(
                resources.Rule, host(), (dataclasses.replace(LINK, vrf=vrf),))
                if each.dst)
            self.assertEqual((MACHINE + '/32', 'eth1'), (back.dst, back.iif))
            self.assertEqual((resources.Ref(
                'egress_machine', ('ip', MACHINE, 'eth1')),), back.requires)

    def test_ipv6_in_a_vrf(self):
        link = model.Link('eth1', 7, 10, 'vrf-provider', LINK.addresses,
                          LINK.routes)
        found = self.wanted(host(
            address='2001:db8:7::77', machine='fd01::9', via='2001:db8:5::1'),
            (link,))
        self.assertEqual(
            [(TABLE, '2001:db8:8::/64'), (WAY_BACK, 'fd01::9/128')],
            [each.key for each in base.only(resources.EgressRoute, found)])
        self.assertIn(resources.Sysctl(
            'net/ipv6/conf/eth1/ndisc_notify', '1'), found)

    def test_another_node_only_drops(self):
        self.assertEqual([drop()], self.wanted(host(chassis='other')))
        self.assertEqual([], self.wanted(host(
            chassis='other', segments=(('physnet0', 0),))))

    def test_a_stop_keeps_the_drop(self):
        kept, = self.wanted(host(), phase=model.Phase.STOPPED)
        self.assertEqual((drop().ref, True), (kept.of, kept.foreign))

    def test_problems(self):
        self.assertIn('database has a machine with the same address',
                      self.problem(taken_by='database'))
        self.assertIn('no gateway port', self.problem(via=''))
        # An address of the link itself is none that it can get.
        for address in ('192.0.2.1', '203.0.113.5'):
            self.assertIn('no link of this node',
                          self.problem(address=address))
        kept, found = self.wanted(host(), (dataclasses.replace(
            LINK, addresses=('203.0.113.5/24', EGRESS + '/32')),))
        self.assertIn('no link of this node', found.text)
        # The link's own address, another one there, and one of another link.
        for machine, dev in (('203.0.113.5', 'eth1'), ('203.0.113.1', 'eth1'),
                             ('192.0.2.9', 'eth2')):
            kept, found = self.wanted(host(machine=machine), (
                LINK, model.Link('eth2', 8, resources.MAIN_TABLE,
                                 addresses=('192.0.2.1/24',))))
            self.assertEqual(drop(machine + '/32'), kept)
            self.assertIn(f'the network of {dev} has', found.text)
        found, = self.wanted(host(segments=(('physnet0', 0),)))
        self.assertIn('ovn-bridge-mappings', found.text)
        crowded = model.Link('eth1', 7, 254, '', LINK.addresses, (), True)
        _drop, found = self.wanted(host(), (crowded,))
        self.assertIn('eth1 has more routes', found.text)

    def test_the_entry_in_nb(self):
        wanted = [resources.EgressNetworks(cloud.CHASSIS, LINK.addresses)]
        for values in ({}, {'drains': frozenset(['r-1'])},
                       {'drains': frozenset([model.ALL])},
                       {'phase': model.Phase.DRAINING}):
            self.assertEqual(wanted, self.of(resources.EgressNetworks,
                                             **values), values)
        for values in ({'phase': model.Phase.STOPPED},
                       {'phase': model.Phase.RESTORING, 'chassis': ''},
                       {'links': ()}):
            self.assertEqual([], self.of(resources.EgressNetworks,
                                         **values), values)
        # Without the label.
        node = cloud.node(links=(LINK,))
        self.assertNotIn(wanted[0], super().wanted(node, node))

    def test_without_a_leak_tenants_are_kept_in(self):
        router = cloud.router(nats=(cloud.fip(
            VIA, type='snat', logical_ip='10.0.1.0/24'),)).bare
        wanted = [drop('10.0.1.0/24', 'br-ex')]
        self.assertEqual(wanted, self.wanted(router))
        self.assertEqual([], self.wanted(router, options={
            'frr__vrf_name': 'vrf-provider',
            'drivers': ['egress_ip', 'veth_leak']}))
        group = cloud.group(cloud.router())
        self.assertEqual(wanted, self.wanted(group._replace(
            ports=tuple(port._replace(
                tenants=('10.0.1.0/24',)) for port in group.ports))))
