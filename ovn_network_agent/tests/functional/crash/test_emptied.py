# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An emptied Northbound database on a node with traffic.

Nobody is ovn-northd here, so the data path of OVN stays.  That is how a
database is repaired.
"""

import os
import signal

from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.crash import base
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb


@needs.needs(os.geteuid() == 0, 'makes network namespaces')
class EmptiedTest(base.CrashTestCase):

    OPTIONS = 'withdrawal_guard_minimum = 2\n'

    def test_nothing_on_the_node_changes(self):
        """Also when the agent dies meanwhile."""
        unit = self.unit()
        before, node = self.settled(), self.on_node()
        traffic = self.right()
        self.nb.transact(ovsdb.delete('Logical_Router', {}))
        self.held(node)
        unit.send(signal.SIGKILL)
        self.patiently(lambda: unit.ends, self.log)
        self.held(node)
        for router in self.layout.routers:
            name = router.lrp.removeprefix('lrp-')
            self.cloud.add_router(name, (router.address,), base.HERE,
                                  mac=router.mac, bind=False)
            for fip in router.fips:
                self.cloud.add_nat(name, fip)
        self.add_gamma(bind=False)
        # The agent writes its rows anew.
        self.becomes(before)
        self.lossless(traffic, unit)

    def held(self, node):
        """Wait for the guard; the node is as it was.

        :param node: result of :meth:`on_node`
        """
        self.patiently(lambda: 'the withdrawal guard holds 4 of 5' in str(
            self.reasons()), lambda: f'{self.reasons()}\n{self.log()}')
        found = self.on_node()
        self.assertEqual(([], []), (sorted(node - found),
                                    sorted(found - node)))
