# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Passes beside a FRR that fails, refuses or says something else."""

import os
import time

from ovn_network_agent import model
from ovn_network_agent.tests.functional.engine import frr_passes as passes
from ovn_network_agent.tests.unit import cloud

FIP = passes.FIP


class TestTrouble(passes.PassTestCase):

    def test_no_route_goes_while_frr_cannot_withdraw(self):
        # Trap T43: attract and drop.
        self.run_pass(self.router)
        with self.wedged('staticd'):
            outcome = self.gateway.run()
            self.assertTrue(outcome.degraded)
            self.assertEqual({FIP, '198.51.100.1'}, self.routes())
            # Not at the end either.
            self.gateway.run(phase=model.Phase.STOPPED)
            self.assertEqual({FIP, '198.51.100.1'}, self.routes())
        self.gateway.clock += 60
        self.run_pass()
        self.assertEqual(set(), self.statics())
        self.assertEqual(set(), self.routes())

    def test_no_route_goes_while_zebra_hangs(self):
        # Trap T43: staticd takes the change, and BGP goes on announcing.
        self.gateway.backend('frr_static').conf.set_override(
            'bgp_soft_refresh', 'never', 'frr')
        self.run_pass(self.router)
        with self.wedged('zebra'):
            self.assertTrue(self.gateway.run().degraded)
            self.assertEqual({FIP, '198.51.100.1'}, self.routes())
        self.gateway.clock += 60
        self.run_pass()
        self.assertEqual(set(), self.routes())

    def test_what_frr_refuses_to_withdraw_costs_only_itself(self):
        # Trap T43: one bad item in the batch.
        other = '198.51.100.11'
        self.run_pass(cloud.router(fips=[FIP, other]))
        self._refusing_vtysh(f'no ip route {FIP}/32')
        outcome = self.gateway.run()
        self.assertIn(f'{FIP}/32', ' '.join(outcome.degraded))
        self.assertEqual({FIP}, self.routes())
        self.assertIn(f'{FIP}/32', self.statics())
        self.frr.restore_vtysh()
        self.gateway.clock += 60
        self.run_pass()
        self.assertEqual(set(), self.routes())

    def _refusing_vtysh(self, line):
        """A vtysh that rejects any batch with that line in it.

        Like the agent it hands on a file: see the page about versions.
        """
        self.root_side(frr_run_dir=self.frr.bindir)
        self.addCleanup(self.frr.restore_vtysh)
        self.frr.write_vtysh(f"""#!/bin/bash
if [ "$1" != -f ]; then exec {self.frr.real_vtysh} "$@"; fi
cat > "$0.input"
if grep -q '^{line} ' "$0.input"; then
    echo '% Configuration failed.'; exit 1
fi
exec {self.frr.real_vtysh} "$@" < "$0.input"
""")

    def test_wedged_zebra_ends_the_pass_by_its_limit(self):
        # Trap T44: the rest is done, and no process stays.
        with self.wedged('zebra'):
            started = time.monotonic()
            outcome = self.gateway.run(self.router)
            self.assertLess(time.monotonic() - started, 8)
            self.assertIn('frr_static', outcome.unreadable)
            self.assertEqual({FIP, '198.51.100.1'}, self.routes())
            self.assertEqual('', _running_vtysh(self.frr.rundir))
        self.gateway.clock += 60
        self.run_pass(self.router)
        self.assertIn(f'{FIP}/32', self.statics())

    def test_messages_do_not_spoil_the_documents(self):
        # Trap T44b: what vtysh says beside is not part of the JSON.
        self.addCleanup(self.frr.restore_vtysh)
        self.frr.write_vtysh(
            '#!/bin/sh\necho "% warning {" >&2\n'
            f'exec {self.frr.real_vtysh} "$@"\n')
        self.run_pass(self.router)
        self.assertEqual(0, self.run_pass(self.router, full=True).changes)

    def test_unreadable_removes_nothing(self):
        # Trap T40: a format that changed is no empty answer.  Without
        # sockets in its directory, the agent uses vtysh.
        self.root_side(frr_run_dir=self.frr.bindir)
        self.run_pass(self.router)
        before = self.frr.running()
        self.addCleanup(self.frr.restore_vtysh)
        for said in ('', 'Codes: K - kernel route', '{}', '[]'):
            with self.subTest(said):
                self.frr.write_vtysh(f'#!/bin/sh\necho "{said}"\n')
                self.gateway.clock += 60
                outcome = self.gateway.run(self.router, full=True)
                self.assertTrue(outcome.degraded)
                self.assertIn(FIP, self.routes())
                self.frr.restore_vtysh()
                self.assertEqual(before, self.frr.running())


def _running_vtysh(rundir):
    """Command lines of the vtysh that talk to these daemons."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline') as opened:
                line = opened.read()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if 'vtysh' in line.split('\0')[0] and rundir in line:
            found.append(line)
    return ' '.join(found)
