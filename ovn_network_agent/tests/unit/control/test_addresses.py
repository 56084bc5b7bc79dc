# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Each address of the node: its kind, its state, and why."""

import json

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.control.reports import addresses
from ovn_network_agent.engine import passes
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

FIP = gateways.FIP
OWN = '198.51.100.1'
R1 = cloud.router().uuid


class AddressesTestCase(gateways.ReconcilerTestCase):

    names = directory.Directory({R1: directory.Router(R1, 'neutron-1', 'web')},
                                {cloud.OTHER: 'gw2'})

    def setUp(self):
        super().setUp()
        self.made = self.gateway()

    def passed(self, *routers, **options):
        """A pass with these routers."""
        self.routers = routers or (cloud.router(fips=[FIP]),)
        return self.made.run(*self.routers, **options)

    def found(self, standings=(), **options):
        """The addresses, by text."""
        found = addresses.Addresses(
            cloud.snapshot(*self.routers), self.made.reconciler.table(),
            standings, self.names, self.made.conf).build(**options)
        self.assertEqual(found, json.loads(json.dumps(found)))
        return {each['address']: each for each in found}

    def state(self, address=FIP):
        """(state, reason) of an address."""
        found = self.found()[address]
        return found['state'], found['why']

    def stands(self, state, words, address=FIP):
        """Compare the state of an address, and words of the reason."""
        found, why = self.state(address)
        self.assertEqual(state, found)
        self.assertIn(words, why)


class StateTest(AddressesTestCase):

    def test_announced(self):
        self.passed()
        found = self.found()
        self.assertEqual({FIP, OWN}, found.keys())
        fip = found[FIP]
        self.assertEqual(
            ('fip', R1, 'web', 'lrp-1', 'physnet1', 0, 'br-ex', 'announced',
             ''),
            tuple(fip[key] for key in (
                'kind', 'router', 'router_name', 'port', 'physical_network',
                'vlan', 'device', 'state', 'why')))
        self.assertRegex(fip['since'], r'^\d{4}-\d\d-\d\dT[\d:]{8}Z$')
        self.assertEqual('router', found[OWN]['kind'])
        self.assertNotIn('resources', fip)

    def test_an_address_of_several_kinds(self):
        snat = model.Nat('snat', OWN, '10.0.0.0/24')
        self.passed(cloud.router(nats=(snat,)))
        self.assertEqual(('snat', ['snat', 'router']), tuple(
            self.found()[OWN][key] for key in ('kind', 'kinds')))

    def test_refused(self):
        self.made.world.refuses[gateways.ROUTE] = 'no space'
        self.passed()
        self.assertEqual(
            ('failed', f'kernel_route 254,{FIP}/32: no space'), self.state())
        self.assertEqual('announced', self.state(OWN)[0])

    def test_announced_and_something_else_fails(self):
        self.passed()
        self.made.world.objects.pop(gateways.HAIRPIN)
        self.made.world.refuses[gateways.HAIRPIN] = 'no space'
        self.passed(stale=['flow'])
        self.stands('failed', 'announced, but flow')

    def test_it_waits_for_a_resource_of_all(self):
        tweak = next(r.ref for r in self.tweaks())
        self.made.world.refuses[tweak] = 'no space'
        self.passed()
        self.stands('waiting', 'waits for flow')
        # And the reason of that one, too.
        self.stands('waiting', ': no space')

    def tweaks(self):
        probe = self.gateway()
        probe.run(cloud.router(fips=[FIP]))
        return [r for r in probe.world.values()
                if r.kind == 'flow' and r.dst is None and r.family == 4]

    def test_a_backend_that_is_down(self):
        self.passed(cloud.router())
        self.made.world.down.add('frr_static')
        self.passed(cloud.router(fips=[FIP]))
        self.stands('failed', 'frr_static is down')
        # What was there before is as it was seen last.
        self.assertEqual(
            ('announced', 'as of the last reading; frr_static: frr_static '
             'is down'), self.state(OWN))
        self.made.world.down.clear()
        self.passed(cloud.router(fips=[FIP]), full=True)
        self.made.clock += 10
        self.passed(cloud.router(fips=[FIP]), full=True)
        self.assertEqual(('announced', ''), self.state(OWN))

    def test_a_backend_at_work(self):
        self.passed(cloud.router())
        static = self.made.backend('frr_static')
        static.concurrent = True
        self.addCleanup(static.gate.set)
        static.gate.clear()
        self.passed(cloud.router(fips=[FIP]))
        self.assertEqual(('wanted', 'frr_static works on it'), self.state())

    def test_held_because_its_segment_is_in_doubt(self):
        self.passed()
        self.passed(cloud.router(
            fips=[FIP], ports=(cloud.port(segment=None),)))
        self.stands('held', 'a driver cannot decide')

    def test_nothing_can_be_made_without_its_segment(self):
        self.passed(cloud.router(
            fips=[FIP], ports=(cloud.port(segment=None),)))
        self.assertEqual(('failed', 'its network has no localnet port in SB'),
                         self.state())

    def test_kept_on_purpose(self):
        self.passed()
        self.made.world.refuses[gateways.ANNOUNCEMENT] = backends.Kept(
            'in use')
        self.passed(cloud.router())
        self.assertEqual(('held', 'in use'), self.state())

    def test_a_removal_that_fails(self):
        self.passed()
        self.made.world.refuses[gateways.ANNOUNCEMENT] = 'no answer'
        self.passed(cloud.router())
        self.stands('failed', 'removal of announcement')
        # OVN has no such address any more, so no router is known.
        self.assertEqual(('other', ''), tuple(
            self.found()[FIP][key] for key in ('kind', 'router')))

    def test_it_is_withdrawn_as_soon_as_possible(self):
        self.passed()
        self.passed(cloud.router(), prune=False)
        self.assertEqual('withdrawing', self.state()[0])

    def test_a_handover(self):
        port = cloud.port(local=False, chassis=cloud.OTHER,
                           handover=model.Handover.ANNOUNCE)
        self.passed(cloud.router(fips=[FIP], ports=(port,)))
        self.assertEqual(
            ('announced', 'handed over to gw2; announced until its proof'),
            self.state())
        port = port._replace(handover=model.Handover.FORWARD)
        self.passed(cloud.router(fips=[FIP], ports=(port,)))
        self.stands('forwarded', 'gw2')

    def test_a_distributed_one(self):
        nat = cloud.fip(FIP, distributed_mac='fa:16:3e:00:00:aa')
        self.passed(cloud.router(nats=(nat,)))
        self.stands('omitted', 'distributed')

    def test_one_that_is_left_out(self):
        self.passed(cloud.router(fips=['203.0.113.9']))
        self.stands('omitted', 'in no network of its gateway ports',
                    '203.0.113.9')

    def test_one_that_network_cidr_leaves_out(self):
        self.made = self.gateway(network_cidr=['198.51.100.0/28'])
        self.passed(cloud.router(fips=['198.51.100.200']))
        self.assertEqual(
            ('omitted', 'in no network of [DEFAULT] network_cidr'),
            self.state('198.51.100.200'))

    def test_a_driver_that_raises(self):
        self.made.fip_route.raises_for.add(FIP)
        self.passed()
        self.assertEqual(('failed', 'driver fip_route: RuntimeError: a bug'),
                         self.state())

    def test_drivers_that_do_not_agree(self):
        self.passed(cloud.router(fips=[FIP]), cloud.router(2, fips=[FIP]))
        self.stands('failed', 'wants')


class MachinesTest(AddressesTestCase):
    """Addresses of machines on provider networks."""

    VM = '198.51.100.20'

    def setUp(self):
        super().setUp()
        self.made.drivers.append(worlds.driver('provider_port',
                                               self.made.conf))
        self.made.start()

    def seen(self, *machines, routers=()):
        """The rows after a pass, a list."""
        self.view = cloud.with_machines(cloud.snapshot(*routers), *machines)
        self.made.reconciler.run(passes.Pass(self.view))
        return addresses.Addresses(
            self.view, self.made.reconciler.table(), (), self.names,
            self.made.conf).build()

    def test_announced(self):
        row, = self.seen(cloud.machine(self.VM, tag=4400001))
        self.assertEqual(
            ('port', ['port'], '', '', 'public', 'vm-1', 'physnet1', 0,
             'br-ex', 4400001, 'announced', ''),
            tuple(row[key] for key in (
                'kind', 'kinds', 'router', 'router_name', 'network', 'port',
                'physical_network', 'vlan', 'device', 'tag', 'state',
                'why')))

    def test_ipv6(self):
        network = cloud.network(networks=('2001:db8::/64',))
        row, = self.seen(cloud.machine('2001:db8::20', network=network))
        self.assertEqual('announced', row['state'])

    def test_why_it_is_not_announced(self):
        """Another network is a failure only where an option names it."""
        away = cloud.segment(physical_network='physnet2', bridge='',
                             device='', mac='', patch_port=None)
        unmapped = ('physical network physnet2 is not in ovn-bridge-mappings '
                    'of this node')
        for state, words, values in (
                ('omitted', 'by hand', {'withheld': 'by hand'}),
                ('forwarded', 'not up', {'announced': False}),
                ('omitted', 'a live migration of its machine to this chassis '
                 'is under way', {'announced': False, 'bound': False}),
                ('omitted', 'in no subnet',
                 {'network': cloud.network(networks=())}),
                ('omitted', unmapped,
                 {'network': cloud.network(segment=away)}),
                ('failed', unmapped,
                 {'network': cloud.network(segment=away, named=True)}),
                ('failed', 'has no patch port', {'network': cloud.network(
                    segment=cloud.segment(patch_port=None))})):
            row, = self.seen(cloud.machine(self.VM, **values))
            self.assertEqual(state, row['state'])
            self.assertIn(words, row['why'])

    def test_of_a_router_too(self):
        """Each has a line, and only the router's is announced."""
        rows = self.seen(cloud.machine(FIP, claimed='a NAT row of a router'),
                         routers=[cloud.router(fips=[FIP])])
        self.assertEqual(
            [('port', 'omitted',
              'a NAT row of a router has the address, too, and comes first'),
             ('fip', 'announced', '')],
            [(each['kind'], each['state'], each['why']) for each in rows
             if each['address'] == FIP])

    def test_a_machine_that_gives_way_hides_no_withdrawal(self):
        self.seen(cloud.machine(self.VM))
        self.made.world.refuses[resources.Ref(
            'announcement', ('vrf-provider', self.VM + '/32'))] = 'no answer'
        rows = self.seen(cloud.machine(self.VM, claimed='a router port'))
        self.assertEqual({('port', 'omitted'), ('other', 'failed')},
                         {(each['kind'], each['state']) for each in rows})


class ChoiceTest(AddressesTestCase):

    def test_a_router_elsewhere_is_not_shown(self):
        self.passed(cloud.away(cloud.router(fips=[FIP])))
        self.assertEqual({}, self.found())

    def test_unless_something_of_it_is_left_here(self):
        self.passed()
        self.made.world.refuses[gateways.ANNOUNCEMENT] = 'no answer'
        self.passed(cloud.away(cloud.router(fips=[FIP])))
        self.assertEqual('failed', self.state()[0])

    def test_an_address_of_a_tenant_is_not_shown(self):
        router = cloud.router(fips=[FIP], balanced=(
            model.BalancedAddress('10.0.0.9'),
            model.BalancedAddress('198.51.100.77')))
        self.passed(router)
        found = self.found()
        self.assertNotIn('10.0.0.9', found)
        self.assertEqual('vip', found['198.51.100.77']['kind'])

    def test_by_address_and_by_router(self):
        other = cloud.router(2, fips=['198.51.100.20'])
        self.passed(cloud.router(fips=[FIP]), other)
        self.assertEqual([FIP], list(self.found(
            chosen=lambda address: address == FIP)))
        for name in ('web', R1, 'neutron-1'):
            self.assertEqual({FIP, OWN}, self.found(router=name).keys())
        # A router that the directory does not have (yet).
        self.assertEqual({'198.51.100.20', '198.51.100.2'},
                         self.found(router='neutron-2').keys())

    def test_in_the_order_of_their_numbers(self):
        fips = ['198.51.100.30', '198.51.100.4', '198.51.100.200']
        self.passed(cloud.router(fips=fips))
        self.assertEqual([OWN, fips[1], fips[0], fips[2]], list(self.found()))

    def test_all_that_was_made_for_one(self):
        self.passed()
        rows = self.found(detailed=True)[FIP]['resources']
        by_kind = {row['kind']: row for row in rows}
        self.assertLessEqual(
            {'kernel_route', 'announcement', 'flow', 'default_route',
             'advertised'}, by_kind.keys())
        self.assertEqual(
            {'kind': 'kernel_route', 'ref': f'254,{FIP}/32',
             'backend': 'route', 'state': 'in place', 'reason': '',
             'holder': '', 'due_in': None,
             'wanted': f'table=254 dst={FIP}/32 dev=br-ex',
             'there': f'table=254 dst={FIP}/32 dev=br-ex'},
            {key: value for key, value in by_kind['kernel_route'].items()
             if key != 'since'})
        # The flows of all addresses that the announcement needs.
        self.assertTrue(any(row['ref'].startswith('br-ex,900')
                            for row in rows))

    def test_what_waits_names_its_holder(self):
        self.made.world.refuses[gateways.ROUTE] = 'no space'
        self.passed()
        row, = (row for row in self.found(detailed=True)[FIP]['resources']
                if row['kind'] == 'announcement')
        self.assertEqual(('waits', f'kernel_route 254,{FIP}/32', ''), (
            row['state'], row['holder'], row['there']))
        self.assertEqual(1.0, row['due_in'])

    def test_only_the_table_knows_it(self):
        stray = resources.Announcement('vrf-provider', '203.0.113.9/32',
                                       '169.254.0.1')
        self.made.world.put(stray)
        self.passed(prune=False)
        self.assertEqual('other', self.found()['203.0.113.9']['kind'])
