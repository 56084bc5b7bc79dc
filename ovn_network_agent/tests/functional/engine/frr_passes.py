# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Passes over a real FRR and the real kernel beside it.

The driver, the reconciler and the backends of routes, rules and FRR are the
real ones; switch, databases and devices are a world.
"""

import json
import subprocess

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.backends.frr import frr_prefix_list
from ovn_network_agent.backends.frr import frr_static
from ovn_network_agent.backends.kernel import route
from ovn_network_agent.backends.kernel import rule
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

FIP = '198.51.100.10'
TABLE = 100
OPTIONS = {'frr__vrf_name': '', 'fip_route__route_table_id': TABLE}
REAL = {'frr_static': frr_static.StaticBackend,
        'frr_prefix_list': frr_prefix_list.PrefixListBackend,
        'route': route.RouteBackend, 'rule': rule.RuleBackend}
NUMBER, *_ = ownership.prefix_list_numbers('198.51.100.0/24')
ENTRY = f'seq {NUMBER:d} permit 198.51.100.0/24 ge 32 le 32'


class Patient(gateways.Gateway):
    """Makes passes until nothing works beside them any more."""

    def run(self, *routers, full=False, stale=(), **how):
        outcome = self.once(*routers, full=full, stale=stale, **how)
        while outcome.pending:
            if not self.reconciler.wait_for_threads(60):
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
        self.router = cloud.router(fips=[FIP])

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
