# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A gateway node changes from the original to this agent, and back.

A test of a tier names the node (:class:`base.SwapTestCase`).
"""

import re

from ovn_network_agent import ownership
from ovn_network_agent.tests import original
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.migrate import observers
from ovn_network_agent.tests.functional.migrate import places
from ovn_network_agent.tests.functional.ovn import cloud

# A floating IP that went while nobody looked.
STALE = '198.51.100.88'
# Seconds of traffic while nothing changes.
_QUIET = 3


def _any(*texts):
    """A pattern for any of some addresses or networks."""
    return re.compile('|'.join(rf'(?<![\d.]){re.escape(text)}(?![\d.])'
                               for text in texts))


class Swap:
    """The change in place and the way back, in one test: both need it all."""

    def test_there_and_back(self):
        self.lay_out()
        wanted = self.state()
        self.plant_stale()
        self.traffic()
        before, rows = self.state(), self.rows()
        options = self.migrated()
        probes = self.probes()
        with (observers.kernel(self.node) as kernel,
              observers.withdrawals(self.host) as withdrawals,
              self.switch.monitor() as flows):
            self.start(options)
            after = self.state()
            self.no_loss(probes)
            self.kept(kernel(), flows(), withdrawals())
        self.assertEqual([], sorted((before - wanted) & after))
        self.assertEqual([], sorted(self.bare - after))
        self.assertEqual([], sorted(
            {line for line in wanted - after if not self.replaced(line)}))
        self.in_ovn(rows)
        self.back(wanted)

    def plant_stale(self):
        """What the original would have removed, had it run on."""
        for command in self.layout.host_route(STALE):
            self.ip(command)
        self.switch.add(self.layout.hairpin(
            self.switch.patch(), places.BRIDGE_MAC, STALE, places.ALPHA.mac))
        self.host.configure(*self.in_vrf(self.layout.static(STALE)))
        waiting.eventually(lambda: f'{STALE}/32' in self.host.learned(),
                           'the stale address is announced')

    def in_vrf(self, line):
        return (f'vrf {self.VRF}', line) if self.VRF else (line,)

    def traffic(self):
        """That traffic flows by what is there now."""
        waiting.eventually(self.answers, 'traffic on each path', 60)
        probes = self.probes()
        waiting.lasts(lambda: None, _QUIET)
        self.no_loss(probes)

    def no_loss(self, probes):
        found = {name: probe.end() for name, probe in probes.items()}
        print(f'{self.id()}: sent and lost: {found}')
        for name, (sent, lost) in found.items():
            self.assertGreater(sent, 0, name)
            self.assertEqual(0, lost, (name, found))

    def kept(self, kernel, flows, withdrawals):
        """That nothing right was removed, or made again."""
        hosts = _any(*(a for router in self.layout.routers
                       for a in router.addresses), places.FORWARD.vip,
                     original.BRIDGE_IP.partition('/')[0])
        networks = _any(*self.layout.networks)
        self.assertEqual([], [line for line in kernel if hosts.search(line)])
        removed = [line for line in kernel if line.startswith('Deleted')]
        self.assertEqual([], [line for line in removed
                              if networks.search(line)])
        self.assertNotEqual([], [line for line in removed if STALE in line])
        self.assertEqual([], [
            line for line in flows if 'event=' in line and
            re.search(r'cookie=0x99[89]\b', line) and STALE not in line])
        self.assertIn('event=DELETED', '\n'.join(flows))
        self.assertEqual({f'{STALE}/32'}, withdrawals)

    def replaced(self, line):
        """Whether the agent has another object in the place of one."""
        return False

    def in_ovn(self, before):
        """Rows are the same rows; the agent says that a binding is final.

        A mark of its routes names the chassis beside the host name.
        """
        after = self.rows()
        bindings = 'Static_MAC_Binding'
        self.assertEqual(
            [{'override_dynamic_mac': True} for _row in before[bindings]],
            [{column: value for column, value in new.items()
              if value != old[column] and column != '_version'}
             for old, new in zip(before.pop(bindings), after.pop(bindings),
                                 strict=True)])
        routes = 'Logical_Router_Static_Route'
        mark = [ownership.EXT_ID_OWNER, f'{cloud.CHASSIS}@{places.HOSTNAME}']
        for old, new in zip(before[routes], after[routes], strict=True):
            del old['_version'], new['_version']
            old['external_ids'][1].append(mark)
            new['external_ids'][1].sort()
        self.assertEqual(before, after)

    def back(self, wanted):
        """The agent goes, and the original finds the node as it needs it."""
        self.configure_node(cleanup=True)
        self.reload()
        self.stop()
        left = self.state()
        self.assertEqual([], sorted(self.bare - left))
        self.assertEqual(self.left_in_lists(), left - self.bare)
        rows = self.rows()
        self.assertEqual([], rows['Static_MAC_Binding'])
        self.assertEqual([], rows['Logical_Router_Static_Route'])
        # Of anything in its way, ip(8) would say that the file exists.
        self.lay_out()
        self.assertEqual(([], []), (sorted(wanted - self.state()),
                                    sorted(self.state() - wanted)))
        self.traffic()

    def left_in_lists(self):
        """Lines of the prefix list that are removed by hand, a set."""
        return {f'frr: {line}' for line in self.layout.frr()
                if line.startswith('ip prefix-list')}
