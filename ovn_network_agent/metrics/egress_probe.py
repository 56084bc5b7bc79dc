# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The health probe between the agents with the driver egress_ip.

Each agent answers on the addresses of its tunnels while its loop is alive, and
the agent that writes the rows asks all others.
"""

import collections
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import functools
import ssl
import threading
import time
import typing

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent.backends import base as backends_base
from ovn_network_agent.common import trigger as triggers
from ovn_network_agent.conf import tls
from ovn_network_agent.conf.options import egress_ip
from ovn_network_agent.drivers import base as drivers_base
from ovn_network_agent.metrics import declared
from ovn_network_agent.ovn.chassis import groups
from ovn_network_agent.ovn.egress import egress_routers
from ovn_network_agent.ovs import wiring
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import lock_state
from ovn_network_agent.runtime.process import status
from ovn_network_agent.watches import base
from ovn_network_agent.watches import egress_question

if typing.TYPE_CHECKING:
    from ovn_network_agent.metrics import server

LOG = logging.getLogger(__name__)

# Seconds between two rounds.
INTERVAL = 5.0
# Seconds without a sign of life after which the loop counts as dead: a step of
# a pass with FRR in it may take some seconds.  A loop that waits gives one
# each third of this time.
SILENCE = 30.0
# A round that takes so many times its limit was late itself.
_LATE = 1.5
_TEXT = 'text/plain; charset=utf-8'
# The backend whose lock the writer has.
_BACKEND = 'egress'


def of_agent(conf: cfg.ConfigOpts, drivers: Sequence[drivers_base.Driver],
             backends: Sequence[backends_base.Backend],
             databases: Callable[[], Mapping[str, connection.Database]],
             watchdog: status.Watchdog,
             stopping: Callable[[], bool]) -> 'EgressProbe | None':
    """The probe of an agent, None where nobody wants it."""
    if not conf.egress_ip.probe_port or all(
            driver.name != egress_ip.GROUP for driver in drivers):
        return None
    locks = [each.lock for each in backends
             if each.name == _BACKEND and each.lock]
    return EgressProbe(conf, databases,
                       lambda: lock_state.State.HELD in [
                           each.ask(0) for each in locks], watchdog, stopping)


class Findings:
    """What the probe has found, a :class:`ovn.sources.Table`."""

    reasons: tuple[str, ...] = ()

    def __init__(self) -> None:
        # By chassis.
        self.rows: Mapping[str, egress_routers.Unreachable] = {}


class EgressProbe(base.Observer):
    """Answers the agents of other nodes, and asks them.

    :param databases: by 'nb', 'sb' and 'ovs'
    :param writes: asks whether this agent writes the rows of egress addresses
    :param stopping: whether the agent has been asked to stop
    """

    def __init__(self, conf: cfg.ConfigOpts,
                 databases: Callable[[], Mapping[str, connection.Database]],
                 writes: Callable[[], bool], watchdog: status.Watchdog,
                 stopping: Callable[[], bool]) -> None:
        self._port = conf.egress_ip.probe_port
        self._files = tls.between_agents(conf)
        self._databases = databases
        self._writes = writes
        self._watchdog = watchdog
        watchdog.also_within(SILENCE / 3)
        self._trigger: triggers.Trigger | None = None
        self._node: model.Node | None = None
        self._agent_stops = stopping
        self._wake, self._stopping = threading.Event(), False
        # By address; replaced as a whole, as the four below.
        self._servers: dict[str, server.Server] = {}
        self._failure = ''
        self._health = egress_routers.Health()
        self._results = dict.fromkeys(declared.PROBES, 0)
        self.table = Findings()
        if self._files is None and tls.by_remote(conf):
            LOG.warning('Agents ask each other without TLS, although OVN is '
                        'reached with it: [ovn] ovn_ssl_ca, ovn_ssl_cert and '
                        'ovn_ssl_key have to be set for that')

    # -- on any thread ----------------------------------------------------

    @property
    def reasons(self) -> tuple[str, ...]:  # type: ignore[override]
        """Why nobody can ask this agent, or it nobody."""
        return tuple(dict.fromkeys(filter(None, (
            *(each.problem for each in self._servers.values()),
            self._failure))))

    @property
    def counts(self) -> declared.Gauges:  # type: ignore[override]
        """The metrics, see :class:`base.Observer`."""
        health = self._health
        return {
            'egress_probe_listening': {
                (address,): int(not each.problem)
                for address, each in self._servers.items()},
            'egress_probes_total': {
                (result,): number for result, number in self._results.items()},
            'egress_chassis_reachable': {
                (chassis,): int(chassis not in health.unreachable)
                for chassis in health.failures}}

    def start(self, trigger: triggers.Trigger) -> None:
        """Start the thread; see :class:`base.Observer`."""
        self._trigger = trigger
        threading.Thread(target=self._run, name='egress-probe',
                         daemon=True).start()

    def seen(self, snapshot: model.Snapshot) -> None:
        """Note who this node is."""
        first, self._node = self._node is None, snapshot.node
        if first:
            # The replicas are there.
            self._wake.set()

    def stop(self) -> None:
        """Tell the thread to end; see :class:`base.Observer`."""
        self._stopping = True
        self._wake.set()

    # -- on the threads of the servers ------------------------------------

    def _page(self) -> tuple[int, str, bytes]:
        node = self._node
        if time.monotonic() - self._watchdog.last > SILENCE:
            word = 'stuck'
        elif self._agent_stops():
            word = 'draining'
        else:
            word = egress_question.READY if node else 'starting'
        return (200 if word == egress_question.READY else 503, _TEXT,
                egress_question.line(word, node.chassis if node else ''))

    # -- on the thread of the probe ---------------------------------------

    def _run(self) -> None:
        while not self._stopping:
            began = time.monotonic()
            try:
                self._listen()
                self._look()
            except connection.Unavailable as error:
                LOG.debug('No health probe: %s', error)
            except Exception:
                LOG.exception('The health probe failed')
            self._wake.wait(max(0.0, began + INTERVAL - time.monotonic()))
            self._wake.clear()
        for each in self._servers.values():
            each.stop()

    def _listen(self) -> None:
        # An agent without the driver does without the library of the server.
        from ovn_network_agent.metrics import server
        with self._databases()['ovs'].rows() as ovs:
            # What is none is a matter of ovn-controller.
            wanted = filter(groups.is_address, wiring.addresses(ovs))
        before, now = self._servers, dict[str, server.Server]()
        for address in wanted:
            if address in before:
                now[address] = before[address]
            else:
                listen = (f'[{address}]:{self._port:d}' if ':' in address
                          else f'{address}:{self._port:d}')
                now[address] = server.Server(
                    listen, {egress_question.PATH: self._page},
                    self._wake_loop,
                    name='egress probes',
                    setting=f'[egress_ip] probe_port = {self._port:d}, '
                            f'ovn-encap-ip = {address}',
                    tls=functools.partial(
                        self._files.context, ssl.PROTOCOL_TLS_SERVER)
                    if self._files else None)
                now[address].start()
        self._servers = now
        for address in before.keys() - now.keys():
            before[address].stop()

    def _look(self) -> None:
        """A round of questions, if this agent writes the rows.

        Where nodes offer networks, one agent has to be the writer before there
        is anything to write: all rows may be in place when agents start.
        """
        if self._agent_stops():
            return
        databases = self._databases()
        with databases['nb'].rows() as nb, databases['sb'].rows() as sb:
            targets = egress_routers.targets(nb, sb)
        if not targets or not self._writes():
            self._note(egress_routers.Health())
            return
        try:
            context = self._files.context() if self._files else None
        except tls.BadFile as error:
            # This says nothing about others.
            self._failure = str(error)
            return
        self._failure = ''
        began = time.monotonic()
        found = egress_question.ask(targets, self._port, context)
        took = time.monotonic() - began
        if took > _LATE * egress_question.longest(
                targets) or not self._writes():
            # An agent without a processor, or that was stopped meanwhile,
            # says nothing about others.
            LOG.debug('A round of health probes took %.1f s', took)
            return
        results = collections.Counter(each.result for each in found.values())
        self._results = {result: number + results[result]
                         for result, number in self._results.items()}
        self._note(self._health.after(
            {chassis: each.why for chassis, each in found.items()}))

    def _note(self, health: egress_routers.Health) -> None:
        before, self._health = self._health.unreachable, health
        now = health.unreachable
        if now == before:
            return
        for chassis in now.keys() - before.keys():
            LOG.warning('The agent of chassis %s does not answer, so it gets '
                        'no new egress address: %s', chassis,
                        now[chassis].why)
        for chassis in before.keys() - now.keys():
            LOG.info('The agent of chassis %s no longer counts as dead',
                     chassis)
        self.table.rows = now
        self._wake_loop()

    def _wake_loop(self) -> None:
        if self._trigger is not None:
            self._trigger.fire('egress probe')
