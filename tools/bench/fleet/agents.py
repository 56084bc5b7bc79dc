# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Real agents in one process: databases, view, drivers, passes and writes.

Each agent is the whole service, with a local Open_vSwitch database of its own.
The kernel and FRR are the world of the unit tests, which does at once what it
is told.  So the agents cost NB and SB what agents on gateway nodes do.

The parent asks by a pipe, see :func:`serve`.
"""

import collections
import functools
import logging
import threading
import time

from ovs import reconnect
from ovs import stream
from ovs.db import idl

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent import service
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import ovsdb_writer
from ovn_network_agent.backends.northbound import advertised
from ovn_network_agent.backends.northbound import gateway_priority
from ovn_network_agent.backends.northbound import nb_global
from ovn_network_agent.backends.northbound import router_rows
from ovn_network_agent.runtime import ovn_side
from ovn_network_agent.tests.functional.ovn import cloud as wirings
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world as worlds
from tools.bench.fleet import cloud

_DRIVERS = ('fip_route', 'veth_leak', 'gateway_drain')
_PAUSE = 0.02

# Counted besides the ends of transactions: connections given up because
# nothing came, attempts to connect, bytes received from NB and SB, and removed
# objects of the kernel and FRR.
SILENT, ATTEMPTS = 'silent', 'attempts'
BYTES, WITHDRAWN = 'bytes', 'withdrawn'


class _Proofs(advertised.AdvertisedBackend):
    """Proofs, without a question to FRR."""

    def apply(self, delta):
        return ovsdb_writer.NbWriter.apply(self, backends.Delta(
            create=delta.create, update=delta.update))


_REAL = {'northbound': router_rows.NorthboundBackend,
         'stale_route': router_rows.StaleRouteBackend,
         'gateway_priority': gateway_priority.GatewayPriorityBackend,
         'bfd_timers': nb_global.BfdTimersBackend,
         'advertised': _Proofs}


class _Counts(logging.Handler):
    """Counts what the agents do on their connections, and errors."""

    def __init__(self, remotes: set[str]):
        super().__init__(logging.ERROR)
        self.found = collections.Counter()
        self.texts = collections.Counter()
        self._adding = threading.Lock()
        logging.getLogger().addHandler(self)
        commit = idl.Transaction.commit
        idle = reconnect.Reconnect.Idle.run
        receive = stream.Stream.recv
        connecting = reconnect.Reconnect.connecting

        def committed(transaction):
            status = commit(transaction)
            if status != transaction.INCOMPLETE:
                self._add(status)
            return status

        def given_up(fsm, now):
            self._add(SILENT)
            return idle(fsm, now)

        def received(source, size):
            error, data = receive(source, size)
            if source.name in remotes:
                self._add(BYTES, len(data or b''))
            return error, data

        def attempted(fsm, now):
            self._add(ATTEMPTS)
            return connecting(fsm, now)
        idl.Transaction.commit = committed
        reconnect.Reconnect.Idle.run = staticmethod(given_up)
        reconnect.Reconnect.connecting = attempted
        stream.Stream.recv = received

    def _add(self, what, count=1):
        with self._adding:
            self.found[what] += count

    def emit(self, record):
        """Count a message by its beginning."""
        self.texts[record.getMessage()[:100]] += 1

    def take(self):
        """(Counter of statuses and others, Counter of errors) since then."""
        with self._adding:
            found, self.found = self.found, collections.Counter()
            texts, self.texts = self.texts, collections.Counter()
        return found, texts


class _Agent:
    """One agent, and its local database.

    :param jitter: see :class:`ovn.chassis.absent_chassis.Absence`
    """

    def __init__(self, number: int, remotes: dict[str, str], options, jitter):
        self._local = ovsdb.Server('ovs').start()
        self._local.transact(*wirings.wiring(self._ids(number)))
        self._number = number
        conf = worlds.conf(
            ovn__ovn_nb_remote=[remotes['nb']],
            ovn__ovn_sb_remote=[remotes['sb']], bridge_dev=wirings.BRIDGE,
            ovs__ovsdb_connection=self._local.remote,
            drivers=list(_DRIVERS),
            # They take three seconds of each drain, and a real switch.
            gateway_drain__relay=False, gateway_drain__overlap=False,
            **options)
        self._world = worlds.World()
        parts = [worlds.WorldBackend(name, self._world)
                 for name in worlds.BACKENDS if name not in _REAL]
        self.service = service.AgentService(
            conf, [worlds.driver(name, conf) for name in _DRIVERS],
            [*parts, *(made(conf) for made in _REAL.values())],
            side=functools.partial(ovn_side.OvnSide, jitter=jitter))

    @staticmethod
    def _ids(number, **more):
        return {
            'system-id': cloud.gateway(number), 'hostname': f'gw{number}',
            'ovn-bridge-mappings': f'physnet1:{wirings.BRIDGE}', **more}

    def drain(self, wanted):
        """Write the wish of an operator, or remove it."""
        wish = {ownership.EXT_ID_DRAIN: 'all'} if wanted else {}
        self._local.transact(ovsdb.update(
            'Open_vSwitch', {}, external_ids=ovsdb.ovsdb_dict(
                self._ids(self._number, **wish))))

    def withdrawn(self):
        """How many objects of the kernel and FRR have been removed."""
        return sum(verb == 'delete' for verb, _ref in self._world.journal)

    def objects(self):
        """How many objects of the kernel and FRR there are."""
        return len(self._world.objects)

    @property
    def connected(self):
        """Whether it follows NB and SB."""
        return all(self.service._databases[name].connected
                   for name in ('nb', 'sb'))

    def close(self):
        """End it without a clean-up."""
        self.service.close()
        self._local.close()


def serve(pipe, numbers, remotes, options, jitter):
    """Make agents, and answer questions until the pipe ends.

    A question is (name of a method of :class:`_Crew`, its arguments).
    """
    for context in privileged.kernel, privileged.ovs:
        context.set_client_mode(False)
    logging.basicConfig(level=logging.CRITICAL)
    crew = _Crew(numbers, remotes, options, jitter)
    pipe.send(None)
    try:
        while True:
            name, *args = pipe.recv()
            pipe.send(getattr(crew, name)(*args))
    except EOFError:
        crew.close()


class _Crew:
    """The agents of this process."""

    def __init__(self, numbers, remotes, options, jitter):
        self._counts = _Counts(set(remotes.values()))
        self._withdrawn = 0
        self._agents = {
            number: _Agent(number, remotes, options, jitter)
            for number in numbers}

    def start(self):
        """Start all agents."""
        for agent in self._agents.values():
            agent.service.start()

    def drain(self, numbers, wanted):
        """Have some of these agents drained, or no longer."""
        for number in set(numbers) & self._agents.keys():
            self._agents[number].drain(wanted)

    def connected(self, limit: float) -> list[float]:
        """Wait until all agents follow NB and SB."""
        deadline = time.monotonic() + limit
        found = {}
        while len(found) < len(self._agents):
            now = time.monotonic()
            if now > deadline:
                raise RuntimeError(
                    f'{len(self._agents) - len(found)} agents not connected')
            for number, agent in self._agents.items():
                if agent.connected:
                    found.setdefault(number, now)
                else:
                    found.pop(number, None)
            time.sleep(_PAUSE)
        return list(found.values())

    def reasons(self):
        """Why agents are degraded, dict of number to texts."""
        return {number: agent.service.status.reasons
                for number, agent in self._agents.items()
                if agent.service.status.reasons}

    def objects(self):
        """How many objects of the kernel and FRR there are."""
        return sum(agent.objects() for agent in self._agents.values())

    def counts(self):
        """As :meth:`_Counts.take`, with WITHDRAWN."""
        found, texts = self._counts.take()
        withdrawn = sum(agent.withdrawn() for agent in self._agents.values())
        found[WITHDRAWN] = withdrawn - self._withdrawn
        self._withdrawn = withdrawn
        return found, texts

    def close(self):
        """End all agents."""
        for agent in self._agents.values():
            agent.close()
