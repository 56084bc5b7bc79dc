# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Whole passes over a real FRR and the real kernel beside it.

The driver, the reconciler and the backends of routes, rules and FRR are the
real ones; switch, databases and devices are a world.
"""

import json
import os
import signal
import subprocess
import time

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.backends import frr_prefix_list
from ovn_network_agent.backends import frr_static
from ovn_network_agent.backends import route
from ovn_network_agent.backends import rule
from ovn_network_agent.engine import drift
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

FIP = '198.51.100.10'
TABLE = 100
OPTIONS = {'frr__vrf_name': '', 'fip_route__route_table_id': TABLE}
REAL = {'frr_static': frr_static.StaticBackend,
        'frr_prefix_list': frr_prefix_list.PrefixListBackend,
        'route': route.RouteBackend, 'rule': rule.RuleBackend}
FOREIGN = ('ip route 198.51.100.77/32 10.0.0.2',
           'ip route 198.51.100.78/32 blackhole',
           f'ip prefix-list {base.LIST} seq 7 deny 198.51.100.0/25 ge 32',
           f'ip prefix-list {base.LIST} seq 9 permit 192.0.2.0/24 ge 32 le 32')
NUMBER, *_ = ownership.prefix_list_numbers('198.51.100.0/24')
ENTRY = f'seq {NUMBER:d} permit 198.51.100.0/24 ge 32 le 32'


class Patient(gateways.Gateway):
    """Makes passes until nothing works beside them any more."""

    def run(self, *routers, full=False, stale=(), **how):
        outcome = self.once(*routers, full=full, stale=stale, **how)
        while outcome.pending:
            if not self.reconciler.wait_beside(60):
                raise AssertionError(f'still at work: {outcome.pending}')
            outcome = self.once(*routers, **how)
        return outcome

    def once(self, *routers, **how):
        """One pass."""
        return super().run(*routers, **how)


class PassTestCase(base.FrrTestCase):
    """With a real FRR, a world for the rest, and a gateway.

    :cvar limit: seconds that vtysh has; None: the usual ones
    :cvar options: what differs from OPTIONS
    """

    limit = None
    options = {}

    def setUp(self):
        super().setUp()
        self.enter_namespace()
        if self.limit:
            self.root_side(vtysh_timeout=self.limit)
        world = worlds.World()
        options = {**OPTIONS, **self.options}
        conf = worlds.conf(**options)
        self.fix_limits(conf)
        self.gateway = Patient(
            [REAL[name](conf) if name in REAL else worlds.WorldBackend(
                name, world) for name in worlds.BACKENDS], world, **options)
        self.addCleanup(self.gateway.reconciler.close)
        self.addCleanup(self.gateway.run, phase=model.Phase.STOPPED)
        self.router = worlds.router(fips=[FIP])

    def run_pass(self, *routers, **how):
        outcome = self.gateway.run(*routers, **how)
        self.assertEqual([], outcome.degraded)
        return outcome

    def statics(self):
        """What FRR has for our addresses, without the operator's."""
        # Of one daemon: another one may hang.
        return {line.split()[2] for line in self.running(base.holder())
                if line.startswith('ip route ') and
                line.endswith(' ' + base.BRIDGE)}

    def entries(self):
        return [line.split(f'{base.LIST} ')[1]
                for line in self.running('bgpd')
                if line.startswith('ip prefix-list')]

    def running(self, daemon):
        return self.frr.only(daemon, 'show running-config').split('\n')

    def routes(self):
        """Host routes of our table."""
        shown = subprocess.run(
            ['ip', '-j', 'route', 'show', 'table', str(TABLE)],
            check=True, capture_output=True).stdout
        return {found['dst'] for found in json.loads(shown or '[]')}


class TestPass(PassTestCase):

    def test_there_and_gone(self):
        self.run_pass(self.router)
        self.assertEqual({f'{FIP}/32', '198.51.100.1/32'}, self.statics())
        self.assertEqual({FIP, '198.51.100.1'}, self.routes())
        base.wait_until(lambda: self.frr.learned() == self.statics(),
                        'announced', 10)
        self.assertEqual(0, self.run_pass(self.router, full=True).changes)
        self.run_pass(self.router.__class__(
            self.router.uuid, self.router.name, ports=(
                worlds.port(local=False, chassis=worlds.OTHER),),
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
        here = [worlds.group(self.router)]
        away = [worlds.group(worlds.away(self.router))]
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

    def test_dry_run_deletes_nothing_of_the_operator(self):
        self.frr.configure(*FOREIGN)
        steps, _outcome = self.gateway.reconciler.plan(
            worlds.snapshot(self.router))
        self.assertEqual(
            [('create', '198.51.100.0/24')],
            [(verb, r.network) for verb, r in steps
             if r.kind == 'prefix_list_entry'])

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
            with self.assertLogs(drift.__name__, 'WARNING') as logs:
                self.run_pass(self.router, stale=['frr_static'])
            levels += [record.levelname for record in logs.records]
            self.assertIn(f'{FIP}/32', self.statics())
        self.assertEqual(['WARNING', 'WARNING', 'ERROR'], levels)
        with self.assertNoLogs(drift.__name__, 'WARNING'):
            self.run_pass(self.router, stale=['frr_static'])


class TestTrouble(PassTestCase):

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
        self.run_pass(worlds.router(fips=[FIP, other]))
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
        # Trap T40: a format that changed is no empty answer.
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


class WithBfdd(base.Frr):
    """And a daemon that the agent needs for nothing."""

    def _start(self):
        super()._start()
        self.start('bfdd')


class HangingTestCase(PassTestCase):
    """Trap T44: a daemon of FRR hangs.

    vtysh waits for it, whatever it is asked.  Two planes were read one after
    the other, and the pass took twice the limit of vtysh.
    """

    make = WithBfdd
    limit = 6
    # Longer than the loop waits for FRR, with what a busy machine adds.
    SOON = 3
    OTHER = '198.51.100.11'

    def setUp(self):
        super().setUp()
        self.run_pass(self.router)
        self.both = worlds.router(fips=[FIP, self.OTHER])

    def hang(self):
        self.frr.signal('bfdd', signal.SIGSTOP)
        # Cleared in reverse order, so before the last pass.
        self.addCleanup(self.frr.signal, 'bfdd', signal.SIGCONT)

    def timed(self, *routers, **how):
        """One pass, which is over soon."""
        began = time.monotonic()
        outcome = self.gateway.once(*routers, **how)
        self.assertLess(time.monotonic() - began, self.SOON)
        return outcome

    def go_on(self, *routers):
        """What hung goes on, and all becomes as it should be."""
        self.frr.signal('bfdd', signal.SIGCONT)
        self.gateway.clock += 60
        self.run_pass(*routers)

    def said(self, *routers):
        """What is degraded when FRR was given up."""
        self.assertTrue(self.gateway.reconciler.wait_beside(60))
        return ' '.join(self.timed(*routers).degraded)


class TestHanging(HangingTestCase):

    def test_new_addresses_go_on(self):
        self.hang()
        # All planes are to be read.
        self.timed(self.router, full=True)
        self.timed(self.both)
        self.assertIn(self.OTHER, self.routes())
        self.assertNotIn(f'{self.OTHER}/32', self.statics())
        # The plane that cannot be read is not taken for empty, and named.
        # Only zebra and bgpd are asked for the prefix list, and they answer.
        said = self.said(self.both)
        self.assertIn('frr_static: static routes of FRR: [Errno 110]', said)
        self.assertNotIn('prefix list of FRR', said)
        # The next attempt costs nothing either.
        self.gateway.clock += 60
        self.timed(self.both, full=True)
        self.assertEqual({FIP, self.OTHER, '198.51.100.1'}, self.routes())
        self.assertEqual({f'{FIP}/32', '198.51.100.1/32'}, self.statics())
        self.assertIn(ENTRY, self.entries())
        self.go_on(self.both)
        self.assertIn(f'{self.OTHER}/32', self.statics())

    def test_a_change_that_does_not_come_back(self):
        """Nobody knew that FRR hangs."""
        self.hang()
        self.timed(self.both)
        self.timed(self.both)
        self.assertIn(self.OTHER, self.routes())
        self.assertIn('did not answer', self.said(self.both))
        self.go_on(self.both)
        self.assertIn(f'{self.OTHER}/32', self.statics())

    def test_what_is_announced_keeps_its_route(self):
        """Trap T43: while the withdrawal is under way, and after it."""
        self.hang()
        for _time in range(2):
            self.timed()
            self.assertEqual({FIP, '198.51.100.1'}, self.routes())
        self.said()
        self.assertEqual({FIP, '198.51.100.1'}, self.routes())
        self.assertIn(f'{FIP}/32', self.statics())
        self.go_on()
        self.assertEqual((set(), set()), (self.statics(), self.routes()))


class TestHangingKernel(HangingTestCase):
    """Where FRR is not what makes the announcements."""

    options = {'fip_route__announce_method': 'kernel',
               'fip_route__route_table_id': 0}

    def announced(self):
        shown = subprocess.run(['ip', '-j', 'route', 'show', 'proto', '44'],
                               check=True, capture_output=True).stdout
        return {found['dst'] for found in json.loads(shown or '[]')}

    def test_addresses_come_and_go(self):
        self.hang()
        self.timed(self.router, full=True)
        self.timed(self.both)
        self.assertIn(self.OTHER, self.announced())
        self.timed(self.router)
        self.assertNotIn(self.OTHER, self.announced())
        self.assertIn('frr_static', self.said(self.router))
        self.gateway.clock += 60
        self.timed(self.both, full=True)
        self.assertIn(self.OTHER, self.announced())
        self.go_on(self.both)


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
