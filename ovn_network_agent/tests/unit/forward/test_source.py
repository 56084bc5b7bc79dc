# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The rules in force: what of the file and of the node makes them."""

import os

import fixtures
from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.common import trigger
from ovn_network_agent.files import file_problems
from ovn_network_agent.forward import health_checks
from ovn_network_agent.forward import source
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world


def text(*addresses, managed=True, check=''):
    return 'port_forwards:\n' + ''.join(f'''\
- vip: {address}
  manage_vip: {'true' if managed else 'false'}
  rules:
  - {{proto: tcp, port: 53, dest_addrs: [10.0.0.5, 10.0.0.6]{check}}}
''' for address in addresses)


class Patient(health_checks.Checks):
    """Somebody who knows who is dead."""

    def __init__(self):
        super().__init__()
        self.wanted = None
        self.dead = set()

    def want(self, targets):
        self.wanted = targets

    def alive(self, target):
        return target.address not in self.dead


class SourceTestCase(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.path = self.useFixture(fixtures.TempDir()).join('rules.yaml')
        self.trigger = trigger.Trigger(0)
        self.health = Patient()
        self.addresses = frozenset()
        self.asked = []
        self.links = ('eth0',)
        self.wanted = []
        self.now = 100

    def write(self, content):
        with open(self.path + '.new', 'w') as opened:
            opened.write(content)
        os.rename(self.path + '.new', self.path)

    def source(self, content=None, **options):
        if content is not None:
            self.write(content)
        conf = world.conf(port_forward__rules_file=self.path, **options)
        made = source.Source(conf, self.health, self.read, self.near,
                             lambda: self.now)
        self.addCleanup(made.stop)
        return made

    def read(self, vrf):
        self.asked.append(vrf)
        if self.addresses is None:
            raise OSError('no answer')
        return self.addresses

    def near(self, destinations):
        self.wanted.append(destinations)
        if self.links is None:
            raise OSError('no answer')
        return self.links

    def links_of(self, made):
        return made.current(cloud.snapshot()).links

    def addresses_of(self, made):
        return [v.address for v in made.current(cloud.snapshot()).vips]


class SourceTest(SourceTestCase):

    def test_without_a_file(self):
        """CFG-34: nothing is asked, nothing is started."""
        made = source.Source(world.conf(), self.health, self.read)
        made.start(self.trigger)
        made.reread()
        made.stop()
        self.assertIsNone(made.with_rules(cloud.snapshot()).forwards)

    def test_a_file_without_rules(self):
        made = self.source('port_forwards: []')
        self.assertEqual((), made.current(cloud.snapshot()).vips)

    def test_a_bad_file_at_the_start(self):
        self.assertRaises(file_problems.BadFile, self.source)
        self.assertRaises(file_problems.BadFile, self.source, '- x')

    def test_the_devices_of_destinations(self):
        """Row PFT-15: found at once, and again after a while."""
        six = text('2001:db8::53').replace('10.0.0.', 'fd00::')
        made = self.source(text('192.0.2.53') + six.partition('\n')[2])
        self.assertEqual(('eth0',), self.links_of(made))
        self.links = ('bond0', 'eth0')
        self.assertEqual(('eth0',), self.links_of(made))
        self.now += 60
        self.assertEqual(('bond0', 'eth0'), self.links_of(made))
        self.now += 60
        self.links = None
        self.assertEqual(('bond0', 'eth0'), self.links_of(made))
        self.assertEqual([{'10.0.0.5', '10.0.0.6'}] * 3, self.wanted)

    def test_the_devices_of_new_destinations(self):
        made = self.source(text('192.0.2.53'))
        made.current(cloud.snapshot())
        self.links = ()
        self.write(text('192.0.2.53', '192.0.2.54'))
        made.file.take()
        self.assertEqual((), made.current(cloud.snapshot()).links)

    def test_the_gateway(self):
        made = self.source(text('192.0.2.53'))
        self.assertTrue(
            made.with_rules(cloud.snapshot(cloud.router())).forwards.gateway)
        away = cloud.port()._replace(local=False)
        self.assertIs(False, made.with_rules(cloud.snapshot(
            cloud.router(ports=(away,)))).forwards.gateway)
        leaving = away._replace(handover=model.Handover.ANNOUNCE)
        self.assertIs(True, made.with_rules(cloud.snapshot(
            cloud.router(ports=(leaving,)))).forwards.gateway)
        self.assertIs(
            False, made.with_rules(cloud.snapshot()).forwards.gateway)
        bare = model.Snapshot(model.Node('', 'host', model.Phase.RESTORING))
        self.assertIsNone(made.with_rules(bare).forwards.gateway)

    def test_what_is_the_same_stays_the_same(self):
        """So that no driver is asked again."""
        self.addresses = frozenset({'192.0.2.53'})
        made = self.source(text('192.0.2.53', managed=False,
                                check=', health_check: {type: tcp}'))
        first = made.current(cloud.snapshot())
        self.assertIs(first, made.current(cloud.snapshot()))
        made.file.take()
        self.assertEqual(first, made.current(cloud.snapshot()))

    def test_an_address_of_a_router(self):
        made = self.source(text('192.0.2.53'))
        self.assertEqual('', made.current(cloud.snapshot()).vips[0].taken)
        found = made.current(cloud.snapshot(
            cloud.router(fips=('192.0.2.53',))))
        self.assertEqual('router neutron-1', found.vips[0].taken)
        self.assertEqual('', made.current(cloud.snapshot()).vips[0].taken)

    def test_an_address_of_a_machine(self):
        made = self.source(text('192.0.2.53'))
        for taken, values in (('port vm-1', {}), ('', {'withheld': 'so'}),
                              ('', {'claimed': 'port vm-2'})):
            found = made.current(cloud.with_machines(
                cloud.snapshot(), cloud.machine('192.0.2.53', **values)))
            self.assertEqual(taken, found.vips[0].taken)

    def test_addresses_are_only_looked_for_when_they_matter(self):
        made = self.source(text('192.0.2.53'))
        self.assertFalse(made.current(cloud.snapshot()).vips[0].present)
        self.assertEqual([], self.asked)

    def test_an_address_that_somebody_else_made(self):
        made = self.source(text('192.0.2.53', '192.0.2.54', managed=False),
                           frr__vrf_name='vrf-x')

        def present():
            return [v.present for v in made.current(cloud.snapshot()).vips]
        self.assertEqual([False, False], present())
        self.addresses = frozenset({'192.0.2.54', '203.0.113.1'})
        self.assertEqual([False, True], present())
        self.addresses = None
        self.assertEqual([False, True], present())
        self.addresses = frozenset()
        self.assertEqual([False, False], present())
        self.assertEqual({'vrf-x'}, set(self.asked))

    def test_health(self):
        made = self.source(text(
            '192.0.2.53', check=', dest_port: 99, '
                                'health_check: {type: tcp}'))
        self.assertEqual({('10.0.0.5', 99), ('10.0.0.6', 99)},
                         {target[:2] for target in self.health.wanted})
        self.health.dead = {'10.0.0.6'}
        vip, = made.current(cloud.snapshot()).vips
        self.assertEqual(['10.0.0.5'],
                         [b.address for b in vip.rules[0].usable])
        self.assertFalse(vip.dead)
        self.health.dead = {'10.0.0.5', '10.0.0.6'}
        self.assertTrue(made.current(cloud.snapshot()).vips[0].dead)
        self.health.dead = set()
        self.assertFalse(made.current(cloud.snapshot()).vips[0].dead)
        self.write(text('192.0.2.53'))
        made.file.take()
        self.assertEqual(frozenset(), self.health.wanted)

    def test_a_new_file(self):
        made = self.source(text('192.0.2.53'))
        made.start(self.trigger)
        self.write(text('192.0.2.53', '192.0.2.54'))
        self.assertIn('file of port forwards', self.trigger.wait(60).reasons)
        self.assertEqual(['192.0.2.53', '192.0.2.54'], self.addresses_of(made))

    def test_a_bad_file_changes_nothing(self):
        log = self.useFixture(fixtures.FakeLogger())
        made = self.source(text('192.0.2.53'))
        before = made.current(cloud.snapshot())
        self.write(text('192.0.2.54') + text('192.0.2')[15:])
        for _time in range(2):
            made.file.take()
            self.assertIs(before, made.current(cloud.snapshot()))
            reason, = made.reasons
            self.assertIn('192.0.2"', reason)
            self.assertIn(self.path + ', line 6', reason)
        self.assertEqual(1, log.output.count('stay as they were'))
        os.unlink(self.path)
        made.file.take()
        self.assertIs(before, made.current(cloud.snapshot()))
        self.assertIn('No such file', made.reasons[0])
        self.write(text('192.0.2.55'))
        made.file.take()
        self.assertEqual((), made.reasons)
        self.assertIn('can be used again', log.output)
        self.assertEqual(['192.0.2.55'], self.addresses_of(made))

    def test_a_bug_changes_nothing(self):
        self.useFixture(fixtures.FakeLogger())
        made = self.source(text('192.0.2.53'))
        before = made.current(cloud.snapshot())
        # Nobody thought of a path that cannot be one.
        made._conf.set_override('rules_file', self.path + '\0', 'port_forward')
        made.file.take()
        self.assertIs(before, made.current(cloud.snapshot()))
        self.assertIn('ValueError: embedded null', made.reasons[0])

    def test_several_errors_are_all_logged(self):
        log = self.useFixture(fixtures.FakeLogger())
        made = self.source(text('192.0.2.53'))
        self.write(text('192.0.2', '0.0.0.0', '224.0.0.1'))
        made.file.take()
        self.assertIn('and 2 more', made.reasons[0])
        for address in ('192.0.2"', '0.0.0.0', '224.0.0.1'):
            self.assertIn(address, log.output)

    def test_a_reread_needs_no_change(self):
        """What SIGHUP does, without waiting until the file rests."""
        made = self.source(text('192.0.2.53'))
        made.start(self.trigger)
        made.reread()
        self.assertIn('file of port forwards', self.trigger.wait(60).reasons)

    def test_a_bad_file_wakes_the_loop(self):
        """Else its status would not say it."""
        made = self.source(text('192.0.2.53'))
        made.start(self.trigger)
        self.write('- x')
        self.assertIn('file of port forwards', self.trigger.wait(60).reasons)
        self.assertTrue(made.reasons)

    def test_rules_need_the_leak(self):
        """CFG-35, at a start and at any change."""
        off = {'frr__vrf_name': 'vrf-x', 'veth_leak__veth_leak_enabled': False}
        error = self.assertRaises(file_problems.BadFile, self.source,
                                  text('192.0.2.53'), **off)
        self.assertIn('[port_forward] rules_file = ' + self.path, str(error))
        self.assertIn('veth_leak_enabled to true', str(error))
        self.assertRaises(file_problems.BadFile, self.source,
                          text('192.0.2.53'), frr__vrf_name='vrf-x',
                          drivers=['fip_route'])
        made = self.source('port_forwards: []', **off)
        self.write(text('192.0.2.53'))
        made.file.take()
        self.assertEqual((), made.current(cloud.snapshot()).vips)
        self.assertIn('veth_leak', made.reasons[0])
        # In the default VRF there is nothing to leak.
        off['frr__vrf_name'] = ''
        self.assertTrue(self.source(text('192.0.2.53'), **off).current(
            cloud.snapshot()).vips)
