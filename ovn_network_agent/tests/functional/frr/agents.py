# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The whole service over a real FRR and real databases."""

from ovn_network_agent import privileged
from ovn_network_agent import service
from ovn_network_agent.backends.frr import frr_prefix_list
from ovn_network_agent.backends.frr import frr_static
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.ovn import base as ovn
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.watches import base as watches
from ovn_network_agent.watches.frr import frr_observers


def observers(conf):
    """The observers of FRR that a configuration asks for, a list."""
    beats = watches.Heartbeat()
    return [beats, *frr_observers.make(conf, beats)]


class ServiceTestCase(ovn.OvsdbTestCase, base.FrrTestCase):
    """Has services; the test plays OVN."""

    def setUp(self):
        super().setUp()
        privileged.kernel.set_client_mode(False)
        self.addCleanup(privileged.kernel.set_client_mode, True)

    def conf_on_servers(self, **options):
        """The configuration of an agent on the databases of this test."""
        remotes = self.remotes()
        return worlds.conf(**{
            'ovn__ovn_nb_remote': [remotes['nb']],
            'ovn__ovn_sb_remote': [remotes['sb']],
            'ovs__ovsdb_connection': remotes['ovs'],
            'bridge_dev': cloud.BRIDGE, 'frr__vrf_name': '',
            # Both sides of a real agent have the same files.
            'frr__frr_run_dir': self.frr.rundir, **options})

    def service(self, conf, driver, backends, observers, start=True,
                retries=None):
        """A service with one driver, which ends with the test.

        :param driver: name of the driver
        :param retries: :class:`backoff.Retries` of the backends
        """
        made = service.AgentService(
            conf, [worlds.driver(driver, conf)], backends, observers,
            retries=retries)
        self.addCleanup(made.close)
        if start:
            made.start()
            self.addCleanup(self.cut_short, made)
        return made

    def cut_short(self, agent):
        """End a service, without a wait for anything but its thread."""
        if not agent.wait(0):
            agent.stop()
            agent.stop()
            self.assertTrue(agent.wait(ovsdb.DEADLINE))


class AnnouncingTestCase(ServiceTestCase):
    """A service announces by FRR; kernel and switch are a world.

    :cvar real: dict from the name of a backend to its real class
    """

    real = {'frr_static': frr_static.StaticBackend,
            'frr_prefix_list': frr_prefix_list.PrefixListBackend}

    def setUp(self):
        super().setUp()
        # The agent asks the kernel for the routes that zebra calls installed.
        self.enter_namespace()
        self.root_side(frr_run_dir=self.frr.rundir)
        self.frr.ip('link', 'set', 'lo', 'up')
        self.world = worlds.World()

    def agent(self, start=True, retries=None, **options):
        conf = self.conf_on_servers(**{
            'fip_route__route_table_id': 100, 'reconcile_interval': 600,
            **options})
        self.fix_limits(conf)
        return self.service(conf, 'fip_route', self._backends(conf),
                            observers(conf), start, retries)

    def _backends(self, conf):
        return [self.real[name](conf) if name in self.real else
                worlds.WorldBackend(name, self.world)
                for name in worlds.BACKENDS]
