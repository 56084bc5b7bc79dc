# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The withdrawal guard, with traffic; decision record 0021."""

from lab import node as nodes
from lab import withdrawals
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.lab import base

# Seconds of traffic while the Northbound database is empty.
EMPTY = 3


class TestGuard(base.LabTestCase):
    """Router alpha on gw1; gw2 is a compute node with two machines."""

    AGENTS = False
    CONFIG = {'DEFAULT': {'withdrawal_guard_minimum': '2'}}

    @classmethod
    def build(cls):
        cloud = cls.cloud
        cls.alpha = cloud.add_router('alpha', ['gw1'])
        cls.vm, cls.fip = cls.machine(cls.alpha)
        cls.distributed = [cls.machine(cls.alpha, host='gw2')[1]
                           for _number in range(2)]
        for fip in cls.distributed:
            cloud.neutron.set_distributed(fip, True)
        config = cls.configuration()
        cloud.start_agents(config, ['gw1'])
        cloud.start_agents({**config, 'DEFAULT': {
            **config['DEFAULT'], 'drivers': 'fip_route,veth_leak'}}, ['gw2'])

    def test_an_emptied_northbound_database(self):
        """While northd is away, OVN forwards, and both agents announce.

        The rows come back from a copy, with other UUIDs.
        """
        central, near = self.cloud['central'], self.distributed[0]
        owners = {self.fip.address: 'gw1',
                  **{fip.address: 'gw2' for fip in self.distributed}}
        for address, name in owners.items():
            self.cloud.wait_announced(address, name, base.SETTLE)
        copy = central.out('ovsdb-client', 'backup',
                           'unix:/run/ovn/ovnnb_db.sock', 'OVN_Northbound')
        marks = {name: self.mark(name) for name in ('gw1', 'gw2')}
        before = {name: self.state(name) for name in marks}
        hops = {address: self.hops(address) for address in owners}
        with (withdrawals.Withdrawals(self.cloud) as withdrawn,
              self.probing(self.fip.address) as running,
              self.probing(near.address) as running_near):
            central.pause('northd')
            try:
                central.run(['ovn-nbctl', '--', '--all', 'destroy',
                             'Logical_Router'])
                for name, mark in marks.items():
                    self.wait_said(name, 'the withdrawal guard holds 2 of 2 '
                                   'announced addresses', mark)
                waiting.lasts(lambda: self.assertEqual(hops, {
                    address: self.hops(address) for address in owners}), EMPTY)
                for name in marks:
                    self.assertIn('has no router at all', self.cloud.agents[
                        name].ctl('status', '--verbose').stdout)
                # The program wants a file, and no pipe.
                central.run(['sh', '-ec', 'cat > /tmp/nb.copy; ovsdb-client '
                             'restore unix:/run/ovn/ovnnb_db.sock '
                             'OVN_Northbound < /tmp/nb.copy; '
                             'rm /tmp/nb.copy'], input=copy)
                for name, mark in marks.items():
                    self.wait_said(name, 'The withdrawal guard holds nothing '
                                   'any more', mark)
                base.note('an emptied database: '
                          f'{self.lossless(running)}; compute node: '
                          f'{self.lossless(running_near)}')
            finally:
                central.resume('northd')
            self.assertEqual([], withdrawn.seen())
        for address, name in owners.items():
            self.assertEqual([], [
                change for change in self.changes(name, marks[name])
                if address + '/32' in change])
            self.reach(self.client, 'icmp', address)
        nodes.wait_until('the nodes have what they had', lambda: before == {
            name: self.state(name) for name in marks}, base.SETTLE)
