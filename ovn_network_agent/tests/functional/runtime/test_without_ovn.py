# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Port-forward-only mode: the real program where there is nothing else."""

import os
import signal

from ovn_network_agent.tests.functional.forward import base


class AloneTest(base.ForwardTestCase):
    """Rows PFM-01, PFM-02."""

    def setUp(self):
        super().setUp()
        for address in base.BACKENDS:
            self.serve(self.backend(address), address)
        self.write_rules(base.rules())
        self.before = self.everything()

    def everything(self):
        return self.sh('ip -o address; ip rule; ip route show table all; '
                       'nft list ruleset').splitlines()

    def touched(self):
        """What of OVN, Open vSwitch and FRR was called."""
        if not os.path.exists(self.called):
            return ''
        with open(self.called) as opened:
            return opened.read()

    def serves(self):
        """Wait for traffic and for the address, which comes after it.

        The client's route leads to the node, so the table of nftables alone
        lets an answer through.
        """
        self.eventually(lambda: self.ask())
        self.eventually(lambda: self.vips() == [base.VIP])

    def test_traffic_from_start_to_stop(self):
        agent = self.start(self.alone(reconcile_interval=3600))
        self.serves()
        backend, client = self.ask().split()
        self.assertIn(backend, base.BACKENDS)
        self.assertEqual(base.CLIENT, client)
        self.logged('First complete pass done')
        self.logged('port-forward-only mode', 'this uses port_forward, and '
                    'not fip_route, veth_leak, gateway_drain')
        self.logged('privileged daemons running: kernel, netfilter')
        self.nothing_but(agent)
        # An address and a table are restored by their watches.
        self.sh(f'ip address del {base.VIP}/32 dev loopback1')
        self.eventually(lambda: self.vips() == [base.VIP])
        self.sh('nft flush ruleset')
        self.serves()
        agent.send_signal(signal.SIGTERM)
        self.assertEqual(0, agent.wait(60), self.log())
        self.assertEqual(self.before, self.everything())
        self.assertEqual('', self.ask())
        self.assertEqual('', self.touched())

    def nothing_but(self, agent):
        """It has a status, refuses drains, and is not degraded."""
        found = self.status()
        self.assertEqual(
            ('port-forward-only', 'running', [], {}),
            (found['mode'], found['phase'], found['degraded'],
             found['databases']), self.log())
        self.assertIn('(port-forward-only): running',
                      self.ctl('status', '--verbose').stdout)
        for command in ('drain', 'undrain'):
            ended = self.ctl(command)
            self.assertEqual(1, ended.returncode)
            self.assertIn('only forwards ports', ended.stderr)

    def test_a_reload_of_rules(self):
        agent = self.start(self.alone(reconcile_interval=3600))
        self.eventually(lambda: self.ask())
        other = '203.0.113.54'
        _key, _end, vip = base.rules().partition('\n')
        self.write_rules(base.rules() + vip.replace(base.VIP, other))
        agent.send_signal(signal.SIGHUP)
        self.eventually(lambda: self.ask(other))
        self.assertTrue(self.ask())
        # What needs OVN is refused, and all stays.
        self.write_rules(base.rules(of_vip='router_masquerade: true'))
        self.eventually(lambda: any(
            'router_masquerade' in reason
            for reason in self.status()['degraded']))
        self.assertTrue(self.ask(other))
        self.assertEqual({base.VIP, other}, set(self.vips()))

    def test_a_dry_run_writes_nothing(self):
        ended = self.run_agent('--dry-run', '--config-file', self.alone(),
                               inside=self.inside)
        self.assertEqual(0, ended.returncode, ended.stderr)
        for word in ('vip_address', base.VIP, 'nft_table'):
            self.assertIn(word, ended.stdout)
        self.assertEqual(self.before, self.everything())
        self.assertEqual('', self.touched())

    def test_a_check_of_the_configuration(self):
        def checked(path):
            return self.run_agent('--check-config', '--config-file', path)
        self.assertEqual(0, checked(self.alone()).returncode)
        self.write_rules(base.rules(of_vip='hairpin_masquerade: true'))
        ended = checked(self.alone())
        self.assertEqual(2, ended.returncode)
        self.assertIn(f'{self.rules}, line 4: '
                      'port_forwards[0].hairpin_masquerade', ended.stderr)
        self.assertEqual(0, checked(self.alone(
            network_cidr='198.51.100.0/24')).returncode)
