# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Machines on provider networks in the view."""

import contextlib
import os
import random
import socket

from ovn_network_agent import model
from ovn_network_agent.ovn import view
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE, AWAY = views.HERE, cloud.OTHER
MAC = 'fa:16:3e:00:00:aa'
ONE, TWO, SIX = '198.51.100.10', '198.51.100.11', '2001:db8::10'


def cidrs(*texts, **more):
    return ovsdb.ovsdb_dict({'neutron:cidrs': ' '.join(texts), **more})


@contextlib.contextmanager
def silent(path):
    """A server that answers nothing.

    :returns: function that says whether a replica has asked it
    """
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        listening.bind(path)
        stack.callback(os.unlink, path)
        listening.listen()

        def asked():
            peer = stack.enter_context(listening.accept()[0])
            return b'_Server' in peer.recv(1 << 16)
        yield asked


class PortsTestCase(base.OvsdbTestCase):
    """A flat provider network with its row in NB."""

    def setUp(self):
        super().setUp()
        self.switch = self.cloud.add_switch()

    def eyes(self, **options):
        return super().eyes(drivers=['provider_port'], **options)

    def add(self, port='vm-1', chassis=HERE, addresses=(ONE,), kind='',
            **row):
        row.setdefault('external_ids', cidrs(*(
            f'{each}/{64 if ":" in each else 24}' for each in addresses)))
        row.setdefault('mac', [' '.join((MAC.upper(), *addresses))])
        row.setdefault('network', self.cloud.network)
        self.cloud.add_machine(port, chassis, kind, **row)

    @staticmethod
    def found(eyes):
        return {name: each for known in eyes.look().machines.values()
                for name, each in known.items()}

    def become(self, eyes, *wanted):
        """Wait for addresses, and compare the view with a new one."""
        self.eventually(
            lambda: self.found(eyes).keys() == set(wanted),
            lambda: f'{sorted(self.found(eyes))} is {sorted(wanted)}')
        self.assertEqual(views.timeless(views.fresh(eyes)),
                         views.timeless(eyes.look()))
        return self.found(eyes)

    def claim(self, eyes, name):
        return self.found(eyes)[name].claimed


class PortsTest(PortsTestCase):

    def test_a_machine_comes_moves_and_goes(self):
        eyes = self.eyes()
        self.become(eyes)
        self.add(addresses=(ONE, SIX))
        found = self.become(eyes, ONE, SIX)[ONE]
        self.assertEqual(
            ('vm-1', MAC, 'public', ('198.51.100.0/24', '2001:db8::/64'),
             3, '', ''),
            (found.port, found.mac, found.network.called,
             found.network.networks, found.network.segment.patch_port,
             found.withheld, found.claimed))
        self.assertEqual({self.switch}, set(eyes.look().networks))
        self.cloud.move_machine('vm-1', AWAY)
        self.become(eyes)
        self.assertEqual({}, eyes.look().networks)
        self.cloud.move_machine('vm-1', HERE)
        self.become(eyes, ONE, SIX)
        self.cloud.move_machine('vm-1', HERE, up=False)
        self.eventually(lambda: not self.found(eyes)[ONE].announced,
                        'what it sends is forwarded')
        self.assertTrue(self.found(eyes)[ONE].bound)

    def test_a_migration_under_way(self):
        """The target announces the machine from the moment it runs there."""
        self.add(chassis=AWAY, additional_chassis=self.cloud._chassis(HERE))
        self.add('vm-2', additional_chassis=self.cloud._chassis(AWAY),
                 addresses=(TWO,))
        eyes = self.eyes()
        found = self.become(eyes, ONE, TWO)
        self.assertEqual(
            ((False, False), (True, True)), tuple(
                (found[each].bound, found[each].announced)
                for each in (ONE, TWO)))
        for values, announced in (
                ({'options': self.activated(HERE)}, True),
                ({'options': self.activated(AWAY)}, False),
                # The source has given the port back.
                ({'chassis': ovsdb.ovsdb_set(())}, True)):
            self.sb.transact(ovsdb.update(
                'Port_Binding', {'logical_port': 'vm-1'}, **values))
            self.eventually(lambda wanted=announced: self.found(
                eyes)[ONE].announced is wanted, values)
            self.assertFalse(self.found(eyes)[ONE].bound)
        self.cloud.move_machine('vm-1', HERE)
        self.eventually(lambda: self.found(eyes)[ONE].bound, 'arrived')

    def test_a_migration_without_a_word_of_the_machine(self):
        """The target announces with the port, although it is not yet up."""
        self.add(chassis=AWAY, additional_chassis=self.cloud._chassis(HERE))
        eyes = self.eyes()
        self.assertFalse(self.become(eyes, ONE)[ONE].announced)
        self.cloud.move_machine('vm-1', HERE, up=False)
        self.eventually(lambda: self.found(eyes)[ONE].bound, 'arrived')
        self.assertTrue(self.found(eyes)[ONE].announced)

    @staticmethod
    def activated(chassis):
        return ovsdb.ovsdb_map(**{'additional-chassis-activated': chassis})

    def test_a_virtual_ip_is_no_address_pair(self):
        """Its own port says where it is, also on another chassis."""
        self.add(port_security=ovsdb.ovsdb_set([f'{MAC} {ONE} {TWO}']))
        self.add('vip', chassis=AWAY, kind='virtual', addresses=(TWO,),
                 virtual_parent='vm-9')
        eyes = self.eyes(provider_port__allowed_address_pairs=True)
        self.become(eyes, ONE)
        self.cloud.move_machine('vip', HERE)
        self.assertEqual('vip', self.become(eyes, ONE, TWO)[TWO].port)
        self.assertEqual('', self.claim(eyes, TWO))
        self.cloud.move_machine('vip', None)
        self.become(eyes, ONE)

    def test_addresses_of_dhcp(self):
        """Neutron has a row for each subnet with DHCP."""
        self.add(addresses=(SIX,))
        eyes = self.eyes()

        def flags():
            network, = eyes.look().networks.values()
            return network.managed, network.other
        self.become(eyes, SIX)
        self.assertEqual((False, False), flags())
        for cidr, options, wanted in (
                ('198.51.100.0/24', {}, (False, False)),
                ('2001:db8::/64', {'dhcpv6_stateless': 'true'},
                 (False, True)),
                ('2001:db8::/64', {'server_id': MAC}, (True, True))):
            self.nb.transact(ovsdb.insert(
                'DHCP_Options', cidr=cidr,
                options=ovsdb.ovsdb_dict(options)))
            self.eventually(lambda w=wanted: flags() == w, options)
            self.become(eyes, SIX)

    def test_the_end_of_a_migration(self):
        """For a moment, no chassis has the port."""
        self.add()
        self.add('vm-2', addresses=(TWO,))
        eyes = self.eyes()
        self.become(eyes, ONE, TWO)
        nobody = self.cloud._chassis(None)
        self.cloud.move_machine('vm-1', None, up=False,
                                requested_chassis=self.cloud._chassis(HERE))
        self.cloud.move_machine('vm-2', None, requested_chassis=nobody)
        self.eventually(lambda: self.found(eyes).keys() == {ONE},
                        lambda: f'{self.found(eyes)}: the other one goes')
        found = self.found(eyes)[ONE]
        self.assertEqual((True, True), (found.bound, found.announced))
        self.cloud.move_machine('vm-1', HERE, up=True)
        self.synchronise(eyes)
        self.become(eyes, ONE)
        self.assertIsNone(eyes.view.due_in())
        # A machine that is off has such a row, too.
        self.cloud.move_machine('vm-1', None)
        self.eventually(lambda: eyes.look() and eyes.view.due_in(), 'due')
        self.become(eyes)

    def test_kinds_of_ports(self):
        for number, kind in enumerate(('virtual', 'external', 'localport',
                                       'vtep', 'l2gateway')):
            self.add(f'vm-{kind}', kind=kind, virtual_parent='vm-1',
                     addresses=(f'198.51.100.{20 + number:d}',))
        self.add('orphan', kind='virtual', addresses=(TWO,))
        self.add('subport', parent_port='vm-1', tag=5)
        found = self.become(self.eyes(), '198.51.100.20', ONE)
        self.assertEqual('vm-virtual', found['198.51.100.20'].port)

    def test_a_network_without_a_localnet_port(self):
        self.add(network=self.cloud.add_network())
        eyes = self.eyes()
        self.become(eyes)

    def test_a_loss_before_the_server_has_sent_the_machines(self):
        """A view without them would withdraw what a former agent made."""
        self.add()
        eyes = self.eyes()
        self.sb.kill()
        self.incomplete(eyes)
        with silent(self.sb.remote.removeprefix('unix:')) as asked:
            self.eventually(asked, 'the replica has asked anew')
            self.incomplete(eyes)
        self.sb.start()
        self.become(eyes, ONE)

    def incomplete(self, eyes):
        self.assertRaises(view.Incomplete, eyes.view.snapshot,
                          model.Phase.RUNNING)

    def test_a_random_history(self):
        """The view is always the one that somebody new would have."""
        chance = random.Random(7)
        eyes = self.eyes()
        for number in range(8):
            self.add(f'vm-{number}', chance.choice((HERE, AWAY)),
                     (f'198.51.100.{10 + number // 2}',))
        self.cloud.add_router('r1')
        for _step in range(30):
            port = f'vm-{chance.randrange(8)}'
            chance.choice((
                lambda: self.cloud.move_machine(port, chance.choice(
                    (HERE, AWAY, None)), up=chance.random() < .8),
                lambda: self.sb.transact(ovsdb.update(
                    'Port_Binding', {'logical_port': port},
                    mac=f'{MAC} 198.51.100.{chance.randrange(10, 14)}')),
                lambda: self.cloud.add_nat(
                    'r1', f'198.51.100.{chance.randrange(10, 14)}')))()
            self.synchronise(eyes)
            seen = views.timeless(eyes.look())
            self.assertEqual(views.timeless(views.fresh(eyes)), seen)

    def test_a_loss_waits_for_the_server(self):
        """A replica that has lost a row withdraws nothing, and is mended."""
        self.add()
        for lost in ('vm-1', 'provnet-1'):
            eyes = self.eyes()
            self.become(eyes, ONE)
            self.confirmed(eyes)
            with eyes.databases['sb'].rows() as sb:
                bindings = sb['Port_Binding']
                del bindings[next(key for key, row in bindings.items()
                                  if row.logical_port == lost)]
            eyes.databases['sb'].dirty.mark_all()
            eyes.look()
            self.assertFalse(eyes.view.confirmed)
            self.confirmed(eyes)
            self.become(eyes, ONE)

    def confirmed(self, eyes):
        def done():
            with contextlib.suppress(view.NotReady):
                return eyes.look() and eyes.view.confirmed
        self.eventually(done, 'the server has confirmed')
