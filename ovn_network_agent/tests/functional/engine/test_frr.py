# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whole passes: objects come and go, and those of an operator stay."""

from ovn_network_agent import model
from ovn_network_agent.engine import health
from ovn_network_agent.tests.functional.engine import frr_passes as passes
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.unit import cloud

FIP = passes.FIP
TABLE = passes.TABLE
ENTRY = passes.ENTRY
FOREIGN = ('ip route 198.51.100.77/32 10.0.0.2',
           'ip route 198.51.100.78/32 blackhole',
           f'ip prefix-list {base.LIST} seq 7 deny 198.51.100.0/25 ge 32',
           f'ip prefix-list {base.LIST} seq 9 permit 192.0.2.0/24 ge 32 le 32')


class TestPass(passes.PassTestCase):

    def test_there_and_gone(self):
        self.run_pass(self.router)
        self.assertEqual({f'{FIP}/32', '198.51.100.1/32'}, self.statics())
        self.assertEqual({FIP, '198.51.100.1'}, self.routes())
        base.wait_until(lambda: self.frr.learned() == self.statics(),
                        'announced', 10)
        self.assertEqual(0, self.run_pass(self.router, full=True).changes)
        self.run_pass(self.router.__class__(
            self.router.uuid, self.router.name, ports=(
                cloud.port(local=False, chassis=cloud.OTHER),),
            nats=self.router.nats))
        self.assertEqual(set(), self.statics())
        self.assertEqual(set(), self.routes())
        self.assertEqual([], self.entries())
        base.wait_until(lambda: not self.frr.learned(), 'withdrawn', 10)

    def test_operators_objects_survive_standby_and_stop(self):
        # Trap T33: another next hop is another owner.
        self.frr.configure(*FOREIGN)
        before = self.frr.running()
        self.run_pass(self.router)
        self.assertIn(ENTRY, self.entries())
        self.run_pass()
        self.assertEqual(before, self.frr.running())
        # Row FIP-21: a candidate has the entry of its network in advance.
        here = [cloud.group(self.router)]
        away = [cloud.group(cloud.away(self.router))]
        self.run_pass(self.router, groups=here)
        entries = self.entries()
        self.run_pass(groups=away)
        self.assertEqual((set(), entries), (self.statics(), self.entries()))
        self.run_pass(groups=away, phase=model.Phase.STOPPED)
        self.assertEqual(before, self.frr.running())
        self.run_pass(self.router)
        self.run_pass(self.router, phase=model.Phase.STOPPED)
        self.assertEqual(before, self.frr.running())

    def test_upgrade_keeps_what_is_wanted_and_removes_it_at_the_end(self):
        # Row FIP-20: as the Go program numbers them.
        self.frr.configure(*FOREIGN)
        self.former_leak('198.51.100.0/24')
        before = self.frr.running()
        self.frr.configure(f'ip prefix-list {base.LIST} seq 14 permit '
                           '198.51.100.0/24 ge 32 le 32')
        left = self.entries()
        for _time in range(2):
            self.run_pass(self.router, full=True)
            self.assertEqual(left, self.entries())
        self.run_pass(self.router, phase=model.Phase.STOPPED)
        self.assertEqual(before, self.frr.running())

    def test_a_line_of_the_operator_stays_on_every_path(self):
        # Row FIP-20: of a network that is announced here, or prepared.
        self.frr.configure(f'ip prefix-list {base.LIST} seq 10 permit '
                           '198.51.100.0/24 ge 32 le 32')
        before = self.frr.running()
        self.run_pass(self.router, full=True)
        self.assertIn(f'{FIP}/32', self.statics())
        self.run_pass(full=True)
        self.assertEqual(before, self.frr.running())
        self.run_pass(self.router)
        self.run_pass(self.router, phase=model.Phase.STOPPED)
        self.assertEqual(before, self.frr.running())

    def test_order(self):
        # Trap T32: what lets an address out is there before the address.
        seen = self._watched_vtysh()
        self.run_pass(self.router)
        self.run_pass()
        with open(seen) as opened:
            written = [line.strip() for line in opened
                       if line.strip().startswith(('ip ', 'no ip '))]
        entry = f'ip prefix-list {base.LIST} {ENTRY}'
        announce = f'ip route {FIP}/32 {base.BRIDGE}'
        added = [line.startswith(entry) for line in written].index(True)
        self.assertLess(added, written.index(announce + ' with its route'))
        # And goes with its route still there.
        withdrawn = written.index(f'no {announce} with its route')
        self.assertLess(withdrawn, [
            line.startswith(f'no ip prefix-list {base.LIST}')
            for line in written].index(True))
        self.assertEqual(set(), self.routes())

    def _watched_vtysh(self):
        """Log each line, and whether the host route exists at that time."""
        log = self.frr.rundir + '/written'
        # So that vtysh is the way to write.
        self.root_side(frr_run_dir=self.frr.bindir)
        real = self.frr.real_vtysh
        self.addCleanup(self.frr.restore_vtysh)
        self.frr.write_vtysh(f"""#!/bin/bash
if [ "$1" != -f ]; then exec {real} "$@"; fi
mark=
ip route show table {TABLE} | grep -q '^{FIP} ' && mark=' with its route'
# A file, since each child of vtysh reads all of it.
cat > {log}.now
sed "s|\\({FIP}/32 .*\\)|\\1$mark|" {log}.now >> {log}
exec {real} "$@" < {log}.now
""")
        return log

    def test_vanished_is_added_again_and_said_louder(self):
        self.run_pass(self.router)
        levels = []
        for _time in range(3):
            self.frr.configure(f'no ip route {FIP}/32 {base.BRIDGE}')
            with self.assertLogs(health.__name__, 'WARNING') as logs:
                self.run_pass(self.router, stale=['frr_static'])
            levels += [record.levelname for record in logs.records]
            self.assertIn(f'{FIP}/32', self.statics())
        self.assertEqual(['WARNING', 'WARNING', 'ERROR'], levels)
        with self.assertNoLogs(health.__name__, 'WARNING'):
            self.run_pass(self.router, stale=['frr_static'])
