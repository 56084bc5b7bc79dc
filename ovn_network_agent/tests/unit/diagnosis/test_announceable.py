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

import dataclasses

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.diagnosis.readers import announceable
from ovn_network_agent.tests.unit import world


class AddressesTest(base.BaseTestCase):

    def test_a_standby_has_the_addresses_of_its_groups(self):
        group = model.GatewayGroup('Gateway_Chassis', ports=(
            model.GroupPort('cr-lrp-1', 'other', 'lrp-1', (
                '198.51.100.1/24', '2001:db8::1/64')),))
        router = dataclasses.replace(world.router(), balanced=(
            model.BalancedAddress('198.51.100.30', True),
            model.BalancedAddress('10.0.0.7')))
        snapshot = world.snapshot(router, groups=(group,))
        self.assertEqual(
            ['198.51.100.1', '198.51.100.10', '198.51.100.30'],
            list(map(str, announceable.addresses(snapshot, (
                '198.51.100.10', '192.0.2.7', '2001:db8::7', 'nonsense')))))
        self.assertEqual((), announceable.addresses(
            model.Snapshot(world.node()), ('198.51.100.10',)))

    def test_a_vni_is_not_the_underlay(self):
        vni = model.Vni(1001)
        group = model.GatewayGroup('Gateway_Chassis', ports=(
            model.GroupPort('cr-lrp-1', 'other', 'lrp-1', (
                '198.51.100.1/24',), vni=vni),
            model.GroupPort('cr-lrp-2', 'other', 'lrp-2', (
                '198.51.100.2/24',))))
        router = world.router(ports=(world.port(vni=vni),),
                              fips=('198.51.100.10',))
        self.assertEqual(['198.51.100.2'], list(map(
            str, announceable.addresses(world.snapshot(
                router, groups=(group,)), ()))))

    def test_machines_need_no_group(self):
        for version, address in (4, '198.51.100.20'), (6, '2001:db8::20'):
            self.assertEqual([address], list(map(
                str, announceable.addresses(
                    model.Snapshot(world.node()), (),
                    ('198.51.100.20', '2001:db8::20'), version))))
