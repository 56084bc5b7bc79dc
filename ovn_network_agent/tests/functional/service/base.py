# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The whole service: real databases and northbound, the rest a world."""

import functools
import logging
import time

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent import resources
from ovn_network_agent import service
from ovn_network_agent.backends.northbound import router_rows
from ovn_network_agent.drivers import fip_route
from ovn_network_agent.drivers import veth_leak
from ovn_network_agent.engine import contributions
from ovn_network_agent.runtime import ovn_side
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world as worlds

HERE = cloud.CHASSIS


class Passes(logging.Handler):
    """When the passes of a service were made."""

    def __init__(self, case):
        super().__init__()
        self.times = []
        logger = logging.getLogger(contributions.__name__)
        logger.addHandler(self)
        case.addCleanup(logger.removeHandler, self)
        case.addCleanup(logger.setLevel, logger.level)
        logger.setLevel(logging.DEBUG)

    def emit(self, record):
        if record.msg.startswith('Asked drivers'):
            self.times.append(time.monotonic())


class ServiceTestCase(base.OvsdbTestCase):

    drivers = {'fip_route': fip_route.FipRouteDriver,
               'veth_leak': veth_leak.VethLeakDriver}
    # Backends that are no world.
    real = {'northbound': router_rows.NorthboundBackend,
            'stale_route': router_rows.StaleRouteBackend}

    def setUp(self):
        super().setUp()
        # In this process: there is no daemon, and nothing is changed.
        for context in privileged.kernel, privileged.ovs, privileged.frr:
            context.set_client_mode(False)
            self.addCleanup(context.set_client_mode, True)
        self.world = worlds.World()
        # A world of their own: they are last, and there to stay.
        self.proofs = worlds.World()

    def agent(self, start=True, conf=None,
              backend_class=worlds.WorldBackend, times=None, retries=None,
              **options):
        """The service on this cloud, its kernel and FRR a world.

        :param times: dict of arguments of :class:`ovn.view.View`
        :param retries: :class:`backoff.Retries` of the backends
        """
        remotes = self.remotes()
        conf = conf or worlds.conf(
            ovn__ovn_nb_remote=[remotes['nb']],
            ovn__ovn_sb_remote=[remotes['sb']],
            bridge_dev=cloud.BRIDGE,
            **{'ovs__ovsdb_connection': remotes['ovs'],
               'ovn__transaction_timeout': 2,
               'ovn__ovsdb_connection_timeout': 5,
               'ovn__retry_max_interval': 1, 'shutdown_timeout': 15,
               **options})
        backends = [
            backend_class(name, self.proofs if name == 'advertised'
                          else self.world)
            for name in worlds.BACKENDS if name not in self.real]
        backends += [made(conf) for made in self.real.values()]
        made = service.AgentService(
            conf, [worlds.driver(name, conf, made)
                   for name, made in self.drivers.items()], backends,
            side=functools.partial(ovn_side.OvnSide, **(times or {})),
            retries=retries)
        self.addCleanup(made.close)
        if start:
            made.start()
            self.addCleanup(self.cut_short, made, conf)
        return made

    def cut_short(self, agent, conf):
        """End an agent that may wait for what a test has taken away."""
        if not agent.wait(0):
            conf.set_override('shutdown_timeout', 1)
            agent.stop()
            agent.stop()
            self.assertTrue(agent.wait(ovsdb.DEADLINE))

    def announced(self):
        return {key[1] for key in self.world.found(resources.Announcement)}

    def listed(self):
        """Networks in the prefix list."""
        return {entry.network for entry in
                self.world.found(resources.PrefixListEntry).values()}

    def routes(self):
        """Tags of the managed default routes in NB."""
        return [dict(row['external_ids'][1]).get(ownership.EXT_ID_CHASSIS)
                for row in self.nb.rows('Logical_Router_Static_Route')]

    def stop(self, agent):
        agent.stop()
        self.assertTrue(agent.wait(ovsdb.DEADLINE))

    def well(self, *agents):
        for agent in agents:
            self.eventually(lambda agent=agent: agent.status.reasons == () and
                            agent.ready, lambda agent=agent:
                            agent.status.reasons)

    def degraded(self, agent, *parts):
        """Wait until the reasons of a degraded agent have these parts."""
        self.eventually(lambda: all(part in ' '.join(
            agent.status.reasons or ()) for part in parts),
            lambda: agent.status.reasons)

    def withdrawn(self):
        """Prefixes whose announcement was ever removed, a set."""
        return {ref.key[1] for verb, ref in self.world.journal
                if verb == 'delete' and
                ref.kind == resources.Announcement.kind}


class TwoRoutersTestCase(ServiceTestCase):
    """Router r1 is on this chassis, and router r2 on another chassis."""

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_router('r2', chassis=cloud.OTHER, networks=[
            '203.0.113.1/24'])

    def running(self, **options):
        """An agent that serves r1."""
        agent = self.agent(**options)
        self.eventually(lambda: self.announced() and self.routes() and
                        self.nb.rows('Static_MAC_Binding'), 'running')
        return agent
