# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Provider networks with a VNI in the view."""

from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE = views.HERE
MAC = 'fa:16:3e:00:00:aa'
ONE = '192.168.50.10'
VNI, TARGETS = 'ovn-network-agent:evpn-vni', 'ovn-network-agent:evpn-rt'


class TwoNetworks:
    """Two networks, each with a machine of the same address here."""

    def setUp(self):
        super().setUp()
        self.switches = {}
        for name in ('blue', 'red'):
            datapath = self.cloud.network
            if name == 'blue':
                datapath = self.cloud.add_network()
                self.cloud._add_binding(
                    datapath, 'provnet-2', 'localnet', tag=202,
                    options=ovsdb.ovsdb_dict({'network_name': 'physnet1'}))
            self.switches[name] = self.cloud.add_switch(name, datapath)
            self.cloud.add_machine(
                f'vm-{name}', HERE, network=datapath, mac=[f'{MAC} {ONE}'],
                external_ids=ovsdb.ovsdb_dict(
                    {'neutron:cidrs': f'{ONE}/24'}))

    def say(self, name, **words):
        self.cloud.say('Logical_Switch', {'name': f'neutron-{name}'},
                       external_ids=words)


class VnisTest(TwoNetworks, base.OvsdbTestCase):

    def found(self, eyes):
        return {network.called: network
                for network in eyes.look().networks.values()}

    def become(self, eyes, wanted):
        self.eventually(lambda: {
            name: network.vni and network.vni.number
            for name, network in self.found(eyes).items()} == wanted,
            lambda: f'{self.found(eyes)} is {wanted}')
        self.assertEqual(views.timeless(views.fresh(eyes)),
                         views.timeless(eyes.look()))
        return self.found(eyes)

    def test_a_vni_comes_changes_and_goes(self):
        eyes = self.eyes(drivers=['evpn'])
        self.become(eyes, {})
        self.say('red', **{VNI: '1001', TARGETS: '64999:1001'})
        red = self.become(eyes, {'red': 1001})['red']
        self.assertEqual(('64999:1001',), red.vni.imports)
        self.assertEqual(('192.168.50.1',), red.gateways)
        self.say('blue', **{VNI: '1002'})
        self.become(eyes, {'red': 1001, 'blue': 1002})
        addresses = [each for known in eyes.look().machines.values()
                     for each in known.values()]
        self.assertEqual([(ONE, '')] * 2, [
            (each.address, each.claimed) for each in addresses])
        self.say('red', **{VNI: '1003'})
        self.become(eyes, {'red': 1003, 'blue': 1002})
        self.say('red', **{VNI: None})
        self.become(eyes, {'blue': 1002})

    def test_the_same_address_twice_in_a_vni(self):
        eyes = self.eyes(drivers=['evpn'])
        self.say('red', **{VNI: '1001'})

        def claims():
            return sorted(each.claimed for known
                          in eyes.look().machines.values()
                          for each in known.values())
        for number, first in (('1002', ''), ('1001', 'port vm-'),
                              ('1002', '')):
            self.say('blue', **{VNI: number})
            self.eventually(
                lambda first=first: len(claims()) == 2 and (
                    claims()[1].startswith(first) and
                    bool(claims()[1]) is bool(first)), claims)
            self.assertEqual(views.timeless(views.fresh(eyes)),
                             views.timeless(eyes.look()))

    def test_beside_networks_without_one(self):
        self.say('red', **{VNI: '1001'})
        eyes = self.eyes(drivers=['provider_port', 'evpn'])
        self.become(eyes, {'red': 1001, 'blue': None})

    def test_without_the_driver(self):
        self.say('red', **{VNI: '1001'})
        eyes = self.eyes(drivers=['provider_port'])
        self.become(eyes, {'red': None, 'blue': None})

    def test_of_an_option(self):
        eyes = self.eyes(drivers=['evpn'], evpn__vnis=['red:1001'])
        self.become(eyes, {'red': 1001})

    def test_two_networks_that_do_not_agree(self):
        for name, target in (('red', '1:1'), ('blue', '1:2')):
            self.say(name, **{VNI: '1001', TARGETS: target})
        eyes = self.eyes(drivers=['evpn'])
        found = self.become(eyes, {'red': 1001, 'blue': 1001})
        first, last = sorted(self.switches, key=self.switches.get)
        self.assertEqual('', found[first].vni.problem)
        self.assertIn(f'network {first} has the VNI 1001',
                      found[last].vni.problem)
        self.say(last, **{TARGETS: found[first].vni.imports[0]})
        self.eventually(lambda: not self.found(eyes)[last].vni.problem,
                        'they agree')

    def decider(self, eyes):
        """Have the networks disagree; the first one, and the other one."""
        for name, target in (('red', '1:1'), ('blue', '1:2')):
            self.say(name, **{VNI: '1001', TARGETS: target})
        first, last = sorted(self.switches, key=self.switches.get)
        self.assertTrue(self.become(eyes, {'red': 1001, 'blue': 1001})[
            last].vni.problem)
        return first, last

    def test_a_network_with_another_vni_by_option_does_not_decide(self):
        first, last = sorted(self.switches, key=self.switches.get)
        self.decider(self.eyes(drivers=['evpn']))
        eyes = self.eyes(drivers=['evpn'], evpn__vnis=[f'{first}:1002'])
        found = self.become(eyes, {first: 1002, last: 1001})
        self.assertEqual(['', ''], [each.vni.problem
                                    for each in found.values()])
        self.assertEqual((), found[first].vni.imports)

    def test_a_network_of_an_option_has_to_agree(self):
        first, last = sorted(self.switches, key=self.switches.get)
        self.say(last, **{VNI: '1001', TARGETS: '1:2'})
        eyes = self.eyes(drivers=['evpn'], evpn__vnis=[f'{first}:1001'])
        found = self.become(eyes, {first: 1001, last: 1001})
        self.assertIn(f'network {first} has the VNI 1001',
                      found[last].vni.problem)

    def test_a_switch_without_a_localnet_port_does_not_decide(self):
        eyes = self.eyes(drivers=['evpn'])
        first, last = self.decider(eyes)
        port = {'red': 'provnet-1', 'blue': 'provnet-2'}[first]
        self.sb.transact(ovsdb.delete('Port_Binding', {'logical_port': port}))
        found = self.become(eyes, {last: 1001})
        self.assertEqual('', found[last].vni.problem)

    def test_gateways(self):
        self.say('red', **{VNI: '1001'})
        self.nb.transact(*(ovsdb.insert(
            'DHCP_Options', f'options{number}', cidr='192.168.50.0/24',
            options=ovsdb.ovsdb_dict({'router': router}))
            for number, router in enumerate(('192.168.50.254', ONE))))
        eyes = self.eyes(drivers=['evpn'])
        # The other one is the address of a machine there.
        found = self.become(eyes, {'red': 1001})['red']
        self.assertEqual(('192.168.50.254',), found.gateways)
        self.nb.transact(ovsdb.update(
            'DHCP_Options', {'cidr': '192.168.50.0/24'},
            options=ovsdb.ovsdb_dict({'router': '192.168.50.5'})))
        self.eventually(lambda: self.found(eyes)['red'].gateways ==
                        ('192.168.50.5',), 'another gateway')

    def test_a_router_is_the_gateway(self):
        """The node must not answer for the address, too."""
        self.say('red', **{VNI: '1001'})
        self.cloud.add_router('one', ('192.168.50.1/24',))
        eyes = self.eyes(drivers=['evpn'])
        found = self.become(eyes, {'red': 1001})['red']
        self.assertEqual((('192.168.50.1',), ()),
                         (found.routers, found.gateways))
