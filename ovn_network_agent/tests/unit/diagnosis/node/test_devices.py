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


class BridgeTest(base.JudgeTestCase):

    def test_up(self):
        self.judged(devices.judge_bridge, bridge(), base.OK)

    def test_missing(self):
        said = self.judged(devices.judge_bridge, bridge(
            missing=('no such device; make it',)), base.BROKEN)
        self.assertEqual('no such device make it', said)

    def test_down(self):
        """The agent sets it up, so before its start nothing is wrong."""
        down = bridge(down=('br-two',))
        self.assertIn('br-two', self.judged(devices.judge_bridge, down,
                                            base.BROKEN))
        self.judged(devices.judge_bridge, down._replace(managed=False),
                    base.WARN)

    def test_messages_of_the_agent(self):
        for judge in (devices.judge_bridge_address,
                      devices.judge_bridge_ports, devices.judge_ipv6):
            self.judged(judge, (), base.OK)
            self.judged(judge, ('x; y', 'z; y'), base.WARN, base.WARN)


class VrfTest(base.JudgeTestCase):

    def test_good(self):
        self.assertIn('table 10', self.judged(devices.judge_vrf, vrf(),
                                              base.OK))
        self.judged(devices.judge_uplink, vrf(), base.OK)

    def test_the_default_vrf(self):
        for judge in (devices.judge_vrf, devices.judge_uplink):
            self.judged(judge, devices.Vrf(''), base.NOT_CHECKED)

    def test_a_kernel_without(self):
        """The missing device is not reported, too: nobody can make it."""
        said = self.judged(devices.judge_vrf, vrf(
            known=False, missing=('no such device; make it',)), base.BROKEN)
        self.assertIn('CONFIG_NET_VRF', said)

    def test_missing_or_down(self):
        self.judged(devices.judge_vrf, vrf(missing=('a; b',)), base.BROKEN)
        self.judged(devices.judge_vrf, vrf(up=False), base.BROKEN)

    def test_uplinks(self):
        self.judged(devices.judge_uplink, vrf(uplinks=()), base.BROKEN)
        down = ('eth1', False), ('eth2', False)
        self.assertIn('eth1, eth2', self.judged(
            devices.judge_uplink, vrf(uplinks=down), base.BROKEN))
        self.assertNotIn('eth1', self.judged(
            devices.judge_uplink,
            vrf(uplinks=(('eth1', True), down[1])), base.WARN))


class SysctlTest(base.JudgeTestCase):

    def test_good(self):
        for judge in (devices.judge_forwarding, devices.judge_rp_filter,
                      devices.judge_proxy_arp):
            self.judged(judge, forwarding(), base.OK)

    def test_forwarding_is_off(self):
        for name in ('blue', 'eth1', 'br_ex'):
            said = self.judged(devices.judge_forwarding, forwarding(
                **{name: {'forwarding': 0}}), base.BROKEN)
            self.assertIn(name.replace('_', '-'), said)
            self.assertIn(f'net.ipv4.conf.{name.replace("_", "-")}.'
                          'forwarding=1"', said)
        # Devices of others are theirs.
        self.judged(devices.judge_forwarding,
                    forwarding(all={'forwarding': 0}), base.OK)

    def test_before_the_start_the_bridge_may_be_closed(self):
        closed = forwarding(br_ex={'forwarding': 0, 'proxy_arp': 0})
        self.judged(devices.judge_forwarding, closed._replace(managed=False),
                    base.OK)
        self.judged(devices.judge_proxy_arp, closed._replace(managed=False),
                    base.NOT_CHECKED)
        self.judged(devices.judge_proxy_arp, closed, base.BROKEN)

    def test_each_segment_answers_for_itself(self):
        found = forwarding()._replace(bridges=('br-ex', 'br-ex.101'))
        found.values['br-ex.101'] = {'forwarding': 1, 'proxy_arp': 0}
        said = self.judged(devices.judge_proxy_arp, found, base.BROKEN)
        self.assertIn('net/ipv4/conf/br-ex.101/proxy_arp=1', said)

    def test_without_a_vrf_the_switch_of_all_counts(self):
        closed = forwarding(all={'forwarding': 0})._replace(vrf=())
        self.assertIn('net.ipv4.ip_forward=1', self.judged(
            devices.judge_forwarding, closed, base.BROKEN))

    def test_a_dot_in_a_name(self):
        closed = forwarding()._replace(vrf=('eth1.5',))
        closed.values['eth1.5'] = {'forwarding': 0}
        self.assertIn('"sysctl -w net/ipv4/conf/eth1.5/forwarding=1"',
                      self.judged(devices.judge_forwarding, closed,
                                  base.BROKEN))

    def test_the_highest_rp_filter_counts(self):
        """Documentation/networking/ip-sysctl: the maximum of both."""
        self.judged(devices.judge_rp_filter, forwarding(
            eth1={'rp_filter': 1}), base.OK)
        loose = {'rp_filter': 0}
        said = self.judged(devices.judge_rp_filter, forwarding(
            all=loose, eth1={'rp_filter': 1}), base.BROKEN)
        self.assertIn('eth1: ', said)
        self.judged(devices.judge_rp_filter, forwarding(
            all={'rp_filter': 1}), base.OK)
        self.assertIn('blue, eth1, br-ex: ', self.judged(
            devices.judge_rp_filter, forwarding(
                all={'rp_filter': 1}, blue=loose, eth1=loose,
                br_ex=loose), base.BROKEN))
