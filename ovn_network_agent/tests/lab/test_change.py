# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Floating IPs come and go: exactly that, and nothing else, changes.

In the same clouds: who reaches whom.
"""

import contextlib
import pathlib
import re
import unittest

from lab import echo
from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent import ownership
from ovn_network_agent.netlink.objects import procfs
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import matrix
from ovn_network_agent.tests.lab import reaching

MANY = 20

# Two lines of the debug log of a pass.
_ASKED = re.compile(r'Asked drivers \d+ times: (.*)|'
                    r'Pass for .* ms( \(full\))?: ')


def _asked_by_events(said):
    """The contributions that the passes for events have asked about.

    :param said: lines of the debug log, a text
    :returns: list of text, one for each pass that was no full comparison
    """
    found, names = [], []
    for match in _ASKED.finditer(said):
        if match[1] is not None:
            names.append(match[1])
        else:
            found += [] if match[2] else names
            names = []
    return found


class Change:
    """The tests: router beta must never notice what happens to alpha."""

    # The comparison of everything computes and reads everything, and may
    # come at any moment.  Here events alone have to do.
    CONFIG = {'DEFAULT': {'reconcile_interval': 3600}}

    # -- one --------------------------------------------------------------

    def test_removed_is_withdrawn_everywhere(self):
        """From spine, FRR, kernel and switch; the others are untouched."""
        others = (self.fip.address, self.fip_beta.address)
        fip = self.floating_ip(self.alpha, self.bare.port)
        self.cloud.wait_announced(fip.address, 'gw1', base.SETTLE)
        self.reach(self.client, 'icmp', fip.address)
        self.assert_served('gw1', fip.address)
        with self.probing(self.fip.address) as near, \
                self.probing(self.fip_beta.address) as far:
            mark = self.mark('gw1')
            flows = self.flows('gw1')
            self.cloud.neutron.remove_fips(self.alpha, [fip])
            self.cloud.wait_withdrawn(fip.address, base.SETTLE)
            self.wait_gone('gw1', fip.address)
            self.assertEqual([], self.cloud.announcers(fip.address))
            self.assertTrue(probe.unreachable(self.client, 'icmp',
                                              fip.address, 3))
            self.lossless(near)
            self.lossless(far)
        self._only_about(fip.address, 'gw1', mark, 3)
        self._as_old(flows, self.flows('gw1'), fip.address)
        self.assert_served('gw1', *others)

    def test_added_costs_the_others_nothing(self):
        """While floating IPs are added, another one loses no packet.

        Trap T48: nothing of the others is written again.
        """
        with self.probing(self.fip.address) as running:
            flows = self.flows('gw1')
            mark = self.mark('gw1')
            for _round in range(3):
                fip = self.floating_ip(self.alpha, self.bare.port)
                self.cloud.wait_announced(fip.address, 'gw1', base.SETTLE)
                self.reach(self.client, 'icmp', fip.address, 2)
                self.cloud.neutron.remove_fips(self.alpha, [fip])
                self.cloud.wait_withdrawn(fip.address, base.SETTLE)
            base.note(f'{self.kind}: while others came and went: '
                      f'{self.lossless(running)}')
        # The spine knows of the withdrawal before the agent is through.
        nodes.wait_until('the agent has removed all of it', lambda: len(
            self.changes('gw1', mark)) >= 18, base.SETTLE)
        self.assertEqual(18, len(self.changes('gw1', mark)))
        self._as_old(flows, self.flows('gw1'), '')

    def _only_about(self, address, name, mark, count):
        """So many changes, all of them about one address."""
        nodes.wait_until('the agent is through', lambda: len(
            self.changes(name, mark)) >= count, base.SETTLE)
        changes = self.changes(name, mark)
        self.assertEqual(count, len(changes), changes)
        for change in changes:
            self.assertIn(self.family.prefix(address), change)

    def _as_old(self, before, after, address):
        """Flows were not written again; one address is excepted."""
        for text, (_packets, age) in before.items():
            if not address or f'{self.family.field}={address} ' not in text:
                self.assertIn(text, after)
                self.assertGreaterEqual(after[text][1], age, text)

    # -- one router -------------------------------------------------------

    def test_other_routers_are_left_alone(self):
        """Neither computed nor applied anew, on no plane.

        The kernel and the switch say themselves what is written to them.
        """
        # Whatever is still under way from before ends here.
        self.cloud.wait_announced(self.fip_beta.address, 'gw1', base.SETTLE)
        self.assert_served('gw1', self.fip_beta.address)
        mark = self.mark('gw1')
        log = '/tmp/monitor'
        self.cloud['gw1'].spawn('monitor', [
            'sh', '-c', f'exec ip {self.family.option} monitor route rule '
                        f'address link neigh >{log}'])
        self.addCleanup(self.cloud['gw1'].stop, 'monitor')
        self._wait_monitor(log, self.family.test_net[1])
        fip = self.floating_ip(self.alpha, self.bare.port)
        self.cloud.wait_announced(fip.address, 'gw1', base.SETTLE)
        self.cloud.neutron.remove_fips(self.alpha, [fip])
        self.cloud.wait_withdrawn(fip.address, base.SETTLE)
        self.wait_gone('gw1', fip.address)
        self._wait_monitor(log, self.family.test_net[2])
        written = self.cloud['gw1'].read(log)
        self.assertIn(fip.address, written)
        for address in (self.fip_beta.address, self.beta.address):
            self.assertNotIn(address + ' ', ''.join(
                line + '\n' for line in written.splitlines()
                if 'lladdr' not in line))
        self.assertEqual([], [line for line in written.splitlines()
                              if 'lookup' in line])
        said = self.said('gw1', mark)
        computed = _asked_by_events(said)
        self.assertNotEqual([], computed)
        for names in computed:
            self.assertNotIn(self._uuid(self.beta), names, said)
            self.assertNotIn('node', names, said)
        # The fabric announces both default routes all the time.
        self.assertNotIn('has no default route', self.said('gw1'))
        self.assertIn(self._uuid(self.alpha), ' '.join(computed))

    def _wait_monitor(self, log, address):
        """Until the monitor has seen what happens now."""
        def seen():
            prefix = self.family.prefix(address)
            self.cloud['gw1'].batch(f'route add blackhole {prefix}\n'
                                    f'route del blackhole {prefix}\n')
            return (self.cloud['gw1'].exists(log) and
                    str(address) in self.cloud['gw1'].read(log))

        nodes.wait_until('the monitor works', seen, base.SETTLE)

    def _uuid(self, router):
        row = self.cloud.nb.find('Logical_Router', name=router.row_name)
        return str(row.uuid)

    # -- many -------------------------------------------------------------


@contextlib.contextmanager
def _limits(number):
    """Let the table of neighbours of IPv4 have so many entries."""
    paths = [f'/proc/sys/net/ipv4/neigh/default/gc_thresh{n}'
             for n in (1, 2, 3)]
    former = [pathlib.Path(path).read_text() for path in paths]
    try:
        for path in paths:
            pathlib.Path(path).write_text(str(number))
        yield
    finally:
        for path, text in zip(paths, former, strict=True):
            pathlib.Path(path).write_text(text)


class TestChangeStatic(Change, reaching.Reach, base.LabTestCase):
    """With static routes of FRR, and a flat network of IPv4."""

    METHOD = 'static'

    def test_a_load_balancer_with_the_floating_ip_of_another_router(self):
        """Row ST-15: the address stays where its NAT row is."""
        cloud, address = self.cloud, self.fip.address
        mark = self.mark('gw2')
        with self.probing(address) as running:
            cloud.neutron.add_port_forwarding(
                self.gamma, address, 8022, self.vm_gamma.port, echo.PORT)
            try:
                self.wait_said('gw2', f'{address} of a load balancer is not '
                               'announced, because it is the address of a NAT '
                               'row of router ', mark)
                self.assertEqual([plan.UPLINKS['gw1'][1]], self.hops(address))
                self.assertNotIn('announced',
                                 self.traces('gw2', address)[address])
            finally:
                cloud.neutron.remove_port_forwarding(self.gamma)
            self.lossless(running)

    def test_a_full_table_of_neighbours(self):
        """Decision record 0039: what doctor warns of."""
        fips = self.floating_ips(self.alpha, [
            (None, self.vm.port) for _number in range(MANY)])
        addresses = [fip.address for fip in fips]
        self.cloud.wait_all_announced(addresses, 'gw1')
        before = procfs.neighbour_table(4)
        # All nodes of the machine share the table; two entries are free.
        with _limits(before.entries + 2):
            self.assertTrue(any(probe.unreachable(
                self.client, 'icmp', address, tries=2)
                for address in addresses))
            self.assertLess(before.overflows,
                            procfs.neighbour_table(4).overflows)
        for address in addresses:
            self.reach(self.client, 'icmp', address)

    def test_patch_port_made_anew(self):
        """Trap T46: it has another number, and the flows follow it.

        Nothing is left on the old number, which OVS may give to any port.
        """
        node = self.cloud['gw1']

        def patch():
            out = node.out('ovs-vsctl', '--format=csv', '--no-headings',
                           '--columns=name,ofport', 'find', 'Interface',
                           'type=patch').split()
            ports = set(node.out('ovs-vsctl', 'list-ports',
                                 plan.BRIDGE).split())
            return next((line.split(',') for line in out
                         if line.split(',')[0] in ports), (None, None))

        def used():
            # What the relays bring goes to OVN, all else comes from there.
            return {re.search(pattern, text)[1] for cookie, pattern in (
                (ownership.COOKIE_MAC_TWEAK, r'in_port=([^, ]+)'),
                (ownership.COOKIE_HAIRPIN, r'in_port=([^, ]+)'),
                (ownership.COOKIE_RELAY, r'output:(\d+)$'))
                for text in self.flows('gw1', cookie)}

        nodes.wait_until('the relay leads to OVN', lambda: self.flows(
            'gw1', ownership.COOKIE_RELAY), base.SETTLE)
        name, number = patch()
        self.assertEqual({number}, used())
        # ovs-vswitchd that sees the end and the beginning of a port at once
        # keeps the port with its number: so ovn-controller waits meanwhile.
        node.pause('ovn-controller')
        try:
            node.out('ovs-vsctl', 'del-port', plan.BRIDGE, name)
            nodes.wait_until('the switch has no patch port', lambda: (
                f'({name})' not in node.out('ovs-ofctl', 'show',
                                            plan.BRIDGE)), base.SETTLE)
        finally:
            node.resume('ovn-controller')
        nodes.wait_until('there is a new patch port', lambda: patch()[1]
                         not in (None, '[]', number), base.SETTLE)
        nodes.wait_until(
            lambda: f'flows are on {patch()}, and not on {used()}',
            lambda: used() == {patch()[1]}, base.SETTLE)
        self.reach(self.client, 'icmp', self.fip.address)
        self.assert_served('gw1', self.fip.address, self.fip_beta.address)


globals().update(matrix.others(TestChangeStatic))


if __name__ == '__main__':
    unittest.main()
