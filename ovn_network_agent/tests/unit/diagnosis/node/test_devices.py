# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from ovn_network_agent.diagnosis.node.kernel import devices
from ovn_network_agent.tests.unit.diagnosis.node import base

OPEN = {'forwarding': 1, 'rp_filter': 2, 'proxy_arp': 1}


def bridge(**changed):
    return devices.Bridge(('br-ex', 'br-two'), (), (),
                          True)._replace(**changed)


def vrf(**changed):
    return devices.Vrf('blue', (), True, 10, True,
                       (('eth1', True),))._replace(**changed)


def forwarding(**values):
    """Facts of a node whose agent runs; values of a device by its name."""
    of = {name: dict(OPEN) for name in ('blue', 'eth1', 'br-ex', 'all')}
    for name, changed in values.items():
        of[name.replace('_', '-')].update(changed)
    return devices.Forwarding(('blue', 'eth1'), ('br-ex',), True, of)


class DevicesTest(base.JudgeTestCase):

    def test_the_bridge(self):
        """The agent sets it up, so before its start nothing is wrong."""
        down = bridge(down=('br-two',))
        self.judged_each(
            devices.judge_bridge, (bridge(), base.OK),
            (bridge(missing=('no such device; make it',)), base.BROKEN,
             'no such device make it'),
            (down, base.BROKEN, 'br-two'),
            (down._replace(managed=False), base.WARN))

    def test_messages_of_the_agent(self):
        for judge in (devices.judge_bridge_address,
                      devices.judge_bridge_ports, devices.judge_ipv6):
            self.judged(judge, (), base.OK)
            self.judged(judge, ('x; y', 'z; y'), base.WARN, base.WARN)

    def test_the_vrf(self):
        """Nobody can make the device for a kernel that has no VRFs."""
        missing = ('no such device; make it',)
        self.judged_each(
            devices.judge_vrf, (vrf(), base.OK, 'table 10'),
            (devices.Vrf(''), base.NOT_CHECKED),
            (vrf(known=False, missing=missing), base.BROKEN, 'CONFIG_NET_VRF'),
            (vrf(missing=missing), base.BROKEN), (vrf(up=False), base.BROKEN))

    def test_uplinks(self):
        down = ('eth1', False), ('eth2', False)
        self.judged_each(devices.judge_uplink, (vrf(), base.OK),
                         (devices.Vrf(''), base.NOT_CHECKED),
                         (vrf(uplinks=()), base.BROKEN),
                         (vrf(uplinks=down), base.BROKEN, 'eth1, eth2'))
        self.assertNotIn('eth1', self.judged(devices.judge_uplink, vrf(
            uplinks=(('eth1', True), down[1])), base.WARN))

    def test_good_sysctls(self):
        for judge in (devices.judge_forwarding, devices.judge_rp_filter,
                      devices.judge_proxy_arp):
            self.judged(judge, forwarding(), base.OK)

    def test_forwarding_is_off(self):
        for name in ('blue', 'eth1', 'br_ex'):
            path = f'net.ipv4.conf.{name.replace("_", "-")}.forwarding=1"'
            self.judged_each(devices.judge_forwarding, (forwarding(
                **{name: {'forwarding': 0}}), base.BROKEN, path))
        closed = forwarding(all={'forwarding': 0})
        dotted = forwarding()._replace(vrf=('eth1.5',))
        dotted.values['eth1.5'] = {'forwarding': 0}
        self.judged_each(
            devices.judge_forwarding,
            # Devices of others are theirs; without a VRF there are none.
            (closed, base.OK),
            (closed._replace(vrf=()), base.BROKEN, 'net.ipv4.ip_forward=1'),
            (dotted, base.BROKEN,
             '"sysctl -w net/ipv4/conf/eth1.5/forwarding=1"'))

    def test_before_the_start_the_bridge_may_be_closed(self):
        closed = forwarding(br_ex={'forwarding': 0, 'proxy_arp': 0})
        before = closed._replace(managed=False)
        # Each segment answers for itself.
        vlan = forwarding()._replace(bridges=('br-ex', 'br-ex.101'))
        vlan.values['br-ex.101'] = {'forwarding': 1, 'proxy_arp': 0}
        self.judged(devices.judge_forwarding, before, base.OK)
        self.judged_each(
            devices.judge_proxy_arp, (before, base.NOT_CHECKED),
            (closed, base.BROKEN),
            (vlan, base.BROKEN, 'net/ipv4/conf/br-ex.101/proxy_arp=1'))

    def test_the_highest_rp_filter_counts(self):
        """Documentation/networking/ip-sysctl: the maximum of both."""
        loose, strict = {'rp_filter': 0}, {'rp_filter': 1}
        self.judged_each(
            devices.judge_rp_filter, (forwarding(eth1=strict), base.OK),
            (forwarding(all=loose, eth1=strict), base.BROKEN, 'eth1: '),
            (forwarding(all=strict), base.OK),
            (forwarding(all=strict, blue=loose, eth1=loose, br_ex=loose),
             base.BROKEN, 'blue, eth1, br-ex: '))
