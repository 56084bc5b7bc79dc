# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Changes of FRR, while FRR is compared faster than FRR answers."""

from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.frr import agents
from ovn_network_agent.tests.functional.frr import base as frr
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import base as services
from ovn_network_agent.tests.unit import world as worlds

FRR = ('frr_static', 'frr_prefix_list')
# A backend that only full comparisons read here, after those of FRR.
OF_COMPARISONS = 'sysctl'
# Seconds that FRR takes for an answer or a change, and for one of the three
# parts of the answer about the prefix list.  Both are longer than the time
# between two comparisons, and the two backends do not answer together.
SLOW, PART = 1.3, 0.3


class SlowBackend(worlds.WorldBackend):
    """Backends of FRR, of which chosen ones answer late.

    A reading lasts until the next full comparison has begun its own readings.

    :cvar late: set of names of the backends that answer late
    """

    late = set()

    def __init__(self, name, world):
        super().__init__(name, world)
        if name in FRR:
            self.system = 'FRR'

    def read(self, known):
        if self.name in self.late:
            begun = self._comparisons()
            self.world.under_way.add(self.name)
            waiting.eventually(
                lambda: self.name not in self.late or
                self._comparisons() > begun + 1, 'the next comparison',
                ovsdb.DEADLINE)
        return super().read(known)

    def _comparisons(self):
        return self.world.reads.count(OF_COMPARISONS)


class OverlapTest(services.ServiceTestCase):

    def setUp(self):
        super().setUp()
        self.world.under_way = set()
        self.addCleanup(SlowBackend.late.clear)
        self.cloud.add_router('r1', chassis=services.HERE)
        self.cloud.add_nat('r1', '198.51.100.10')

    def test_readings_that_overlap_do_not_hold_up_changes(self):
        """Each reading of FRR ends when the other one has begun."""
        self.agent(backend_class=SlowBackend, reconcile_interval=1)
        # First of all cleanups, so that nothing waits for a comparison.
        self.addCleanup(SlowBackend.late.clear)
        self.eventually(lambda: '198.51.100.10/32' in self.announced(),
                        self.announced)
        for name in FRR:
            SlowBackend.late.add(name)
            self.eventually(lambda name=name: name in self.world.under_way,
                            f'a late answer of {name}')
        self.cloud.add_nat('r1', '198.51.100.11')
        self.eventually(lambda: '198.51.100.11/32' in self.announced(),
                        self.announced)
        # The comparisons go on, too.
        before = {name: self.world.reads.count(name) for name in FRR}
        self.eventually(lambda: all(
            self.world.reads.count(name) > before[name] for name in FRR),
            self.world.reads)


class TestRealFrr(agents.AnnouncingTestCase):
    """The same over a real FRR, which a slow vtysh reaches."""

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        self.cloud.add_nat('r1', '198.51.100.10')

    def test_a_router_comes(self):
        self.agent(reconcile_interval=1)
        frr.wait_until(lambda: self._has('198.51.100.10'), 'announced',
                       ovsdb.DEADLINE)
        self.addCleanup(self.frr.restore_vtysh)
        self.frr.write_vtysh(f'''#!/bin/sh
case "$*" in
*running*|*-f*) sleep {SLOW};;
*) sleep {PART};;
esac
exec {self.frr.real_vtysh} "$@"
''')
        # From now on vtysh is the way to ask and to write.
        self.root_side(frr_run_dir=self.frr.bindir)
        self.cloud.add_router('r2', chassis=cloud.CHASSIS,
                              networks=['203.0.113.1/24'])
        self.cloud.add_nat('r2', '203.0.113.11')
        frr.wait_until(lambda: self._has('203.0.113.11'), 'announced',
                       ovsdb.DEADLINE)

    def _has(self, address):
        return f'ip route {address}/32' in self.frr.ask(
            frr.holder(), 'show running-config')
