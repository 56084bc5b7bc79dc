# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A backend that dies, with traffic: the real program and real sockets."""

import re
import signal

from ovn_network_agent.tests.functional.forward import base


class DyingTest(base.ForwardTestCase):

    def setUp(self):
        super().setUp()
        self.holders = [self.backend(each) for each in base.BACKENDS]
        self.servers = [self.serve(*pair) for pair in zip(
            self.holders, base.BACKENDS, strict=True)]
        self.write_rules(base.rules(
            of_vip='health_check: {type: tcp, interval: 0.2, timeout: 0.2, '
                   'rise: 2, fall: 2}'))
        self.agent = self.start(self.alone(reconcile_interval=3600))
        self.eventually(lambda: self.ask())

    def kill(self, number):
        self.servers[number].kill()
        self.servers[number].wait()

    def revive(self, number):
        self.servers[number] = self.serve(self.holders[number],
                                          base.BACKENDS[number])

    def targets(self):
        """Backends that the table sends clients to, a set."""
        table = self.sh('nft list table ip ovn-network-agent')
        translations = re.findall('dnat ip to .*', table)
        return {address for address in base.BACKENDS
                if any(address in line for line in translations)}

    def vip(self):
        found, = self.status()['vips']
        return found

    def dead(self):
        return {backend['address']: backend['why']
                for backend in self.vip()['rules'][0]['backends']
                if not backend['alive']}

    def test_one_dies_then_the_last_and_both_come_back(self):
        first, second = base.BACKENDS
        self.eventually(lambda: self.targets() == {first, second})
        self.kill(0)
        self.eventually(lambda: self.targets() == {second})
        self.assertEqual(second, self.ask().split()[0])
        self.eventually(lambda: self.dead() == {first: 'connection refused'})
        self.assertEqual([base.VIP], self.vips())
        self.kill(1)
        self.eventually(lambda: self.vips() == [])
        self.eventually(lambda: self.vip()['state'] == 'down')
        self.assertIn('none of its destinations is alive',
                      self.vip()['reason'])
        self.assertIn(f'dead: {first} (connection refused), {second} '
                      '(connection refused)',
                      self.ctl('status', '--verbose').stdout)
        self.revive(1)
        self.eventually(lambda: self.vips() == [base.VIP])
        self.eventually(lambda: self.ask())
        self.assertEqual(second, self.ask().split()[0])
        self.revive(0)
        self.eventually(lambda: self.targets() == {first, second})
        # The answer of status is that of the last complete pass.
        self.eventually(lambda: self.dead() == {})
        self.logged(f'VIP down: {base.VIP}')
        self._a_node_without_a_way_to_them()
        self.agent.send_signal(signal.SIGTERM)
        self.assertEqual(0, self.agent.wait(60), self.log())

    def _a_node_without_a_way_to_them(self):
        """It says why; what it cannot reach its clients cannot, either."""
        self.sh('ip link set lan down')
        self.eventually(lambda: self.vips() == [])
        self.eventually(lambda: set(self.dead()) == set(base.BACKENDS))
        self.assertTrue(all(self.dead().values()), self.dead())
        self.sh('ip link set lan up')
        self.eventually(lambda: self.vips() == [base.VIP])
