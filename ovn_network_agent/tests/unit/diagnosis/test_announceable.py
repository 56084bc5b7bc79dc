# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

import dataclasses

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.tests.unit import cloud


class AddressesTest(base.BaseTestCase):

    def test_a_standby_has_the_addresses_of_its_groups(self):
        group = model.GatewayGroup('Gateway_Chassis', ports=(
            model.GroupPort('cr-lrp-1', 'other', 'lrp-1', (
                '198.51.100.1/24', '2001:db8::1/64')),))
        router = dataclasses.replace(cloud.router(), balanced=(
            model.BalancedAddress('198.51.100.30', True),
            model.BalancedAddress('10.0.0.7')))
        snapshot = cloud.snapshot(router, groups=(group,))
        self.assertEqual(
            ['198.51.100.1', '198.51.100.10', '198.51.100.30'],
            list(map(str, sources.announceable(snapshot, (
                '198.51.100.10', '192.0.2.7', '2001:db8::7', 'nonsense')))))
        self.assertEqual((), sources.announceable(
            model.Snapshot(cloud.node()), ('198.51.100.10',)))

    def test_a_vni_is_not_the_underlay(self):
        vni = model.Vni(1001)
        group = model.GatewayGroup('Gateway_Chassis', ports=(
            model.GroupPort('cr-lrp-1', 'other', 'lrp-1', (
                '198.51.100.1/24',), vni=vni),
            model.GroupPort('cr-lrp-2', 'other', 'lrp-2', (
                '198.51.100.2/24',))))
        router = cloud.router(ports=(cloud.port(vni=vni),),
                              fips=('198.51.100.10',))
        self.assertEqual(['198.51.100.2'], list(map(
            str, sources.announceable(cloud.snapshot(
                router, groups=(group,)), ()))))

    def test_machines_need_no_group(self):
        for version, address in (4, '198.51.100.20'), (6, '2001:db8::20'):
            self.assertEqual([address], list(map(
                str, sources.announceable(
                    model.Snapshot(cloud.node()), (),
                    ('198.51.100.20', '2001:db8::20'), version))))
