# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The listener for metrics and readiness as a part of the running agent."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import time
import typing

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent import version
from ovn_network_agent.backends import base as backends_base
from ovn_network_agent.common import ip_text
from ovn_network_agent.conf import log_levels
from ovn_network_agent.conf.options import metrics as options
from ovn_network_agent.control.reports import report as reports
from ovn_network_agent.control.reports import situation
from ovn_network_agent.forward import vip_state
from ovn_network_agent.metrics import collection
from ovn_network_agent.metrics import declared
from ovn_network_agent.metrics import present
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import lock_state
from ovn_network_agent.runtime import pass_log
from ovn_network_agent.runtime.process import status as statuses
from ovn_network_agent.watches import base

_TEXT = 'text/plain; charset=utf-8'
_HTML = 'text/html; charset=utf-8'
_SOON = (b'<!DOCTYPE html><meta http-equiv="refresh" content="2">'
         b'<title>ovn-network-agent</title><p>The agent has not answered yet.'
         b'</p>')
# Seconds in which no other client is served, for one client in five seconds.
_PAGE_WAIT = 0.5
# The format of prometheus_client.generate_latest().
_METRICS = 'text/plain; version=0.0.4; charset=utf-8'
_OBSERVED = ('frr_restarts_total', 'ovs_restarts_total',
             'nexthop_repairs_total')
# Counters that the kernel, the log and backends keep.
_KEPT = ('veth_packets_total', 'veth_dropped_total',
         'neighbour_overflows_total', 'log_messages_total',
         'egress_probes_total', 'egress_ip_failovers_total')


class State(typing.NamedTuple):
    """The questions of the listener to the agent, on any thread."""

    status: statuses.Status
    # :class:`ovn.view.View`, or that of :mod:`runtime.ovn_side`
    view: typing.Any
    databases: Mapping[str, connection.Database]
    standings: Callable[[], tuple[vip_state.VipStatus, ...]]
    stopping: Callable[[], bool]  # whether the agent has been asked to stop
    passes: pass_log.PassLog
    # What "status --json" says; takes seconds while the loop or bgpd hangs.
    report: Callable[[], dict[str, typing.Any]] = dict


class Endpoint(base.Serving):
    """Serves ``[metrics] listen``; does nothing if that is empty."""

    def __init__(self, conf: cfg.ConfigOpts,
                 backends: Sequence[backends_base.Backend],
                 observers: Sequence[base.Observer], state: State) -> None:
        super().__init__('metrics')
        self._conf = conf
        self._locks = [each.lock for each in backends if each.lock]
        self._counting: tuple[backends_base.Backend | base.Observer, ...] = (
            *backends, *observers)
        self._state = state
        # For the loop.
        self.record = pass_log.Record()
        if conf.metrics.listen:
            self._serve(backends)

    def _serve(self, backends: Sequence[backends_base.Backend]) -> None:
        # The libraries of server and format cost 35 ms of processor and 4 MiB.
        from ovn_network_agent.metrics import server
        from ovn_network_agent.metrics import store
        self._counts = collection.Collection(backends)
        self._store = self._counts.store = store.Store(
            {'backend': self._counts.backends, 'kind': self._counts.kinds},
            self.present, (*_OBSERVED, *_KEPT))
        self.record = pass_log.Guarded(self._counts)
        pages = {'/metrics': self._metrics,
                 '/healthz': lambda: (200, _TEXT, b'alive\n'),
                 '/readyz': self._ready}
        headers: list[tuple[str, str]] = []
        if _has_page(self._conf):
            from ovn_network_agent.metrics import page
            pages['/'] = self._page
            self._rendered = situation.Kept(lambda: page.render(
                self._state.report(),
                time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime())),
                page.REFRESH / 2)
            headers = [('Content-Security-Policy', page.POLICY),
                       ('X-Content-Type-Options', 'nosniff'),
                       ('Referrer-Policy', 'no-referrer'),
                       ('Cache-Control', 'no-store')]
        self._server = server.Server(self._conf.metrics.listen, pages,
                                     self._changed, headers=headers)

    def present(self) -> declared.Gauges:
        """The metrics to be asked for at a scrape."""
        view, status = self._state.view, self._state.status
        snapshot = view.last
        found = {
            'build_info': {(version.STRING,): 1},
            'ready': int(not self._unready()),
            'degraded_reasons': (None if status.reasons is None
                                 else len(status.reasons)),
            'reconcile_interval_seconds': self._conf.reconcile_interval,
            'missing_chassis': len(view.dead),
            'lock_state': {(lock.name, state.value): int(state is now)
                           for lock in self._locks if lock.started
                           for now in [lock.state]
                           for state in lock_state.State},
            'log_messages_total': {
                (level,): number for level, number
                in log_levels.log_counts.counts.items()},
            **present.of_veth(),
            **present.of_neighbours(),
            'reconcile_in_progress': int(
                self._state.passes.running is not None),
            **dict.fromkeys(_OBSERVED, 0),
            **self._counts.gauges,
            **present.of_view(snapshot, self._conf),
            **present.of_databases(self._state.databases)}
        if snapshot is None or snapshot.node.phase is not model.Phase.STOPPED:
            found.update(present.of_vips(self._state.standings()))
        for each in self._counting:
            found.update(each.counts)
        return found

    # -- the answers (on the server's thread) ------------------------------

    def _metrics(self) -> tuple[int, str, bytes]:
        return 200, _METRICS, self._store.page()

    def _page(self) -> tuple[int, str, bytes]:
        found, _new = self._rendered.get(_PAGE_WAIT, joins=False)
        if found is None:
            return 503, _HTML, _SOON
        return 200, _HTML, found

    def _ready(self) -> tuple[int, str, bytes]:
        reasons = self._unready()
        if not reasons:
            return 200, _TEXT, b'ready\n'
        return 503, _TEXT, ''.join(
            f'unready: {reason}\n' for reason in reasons).encode()

    def _unready(self) -> list[str]:
        """Why the agent is not ready, as in "ovn-network-agent-ctl health"."""
        state = self._state
        found = reports.health(
            state.view.last, state.status, self._conf.reconcile_interval,
            time.monotonic())['reasons']
        if state.stopping() and not found:
            # The loop has not begun to stop yet.
            found = ['the agent stops']
        # The loop reports a lost connection with its next pass.
        found += [database.problem for database in state.databases.values()
                  if not database.connected and
                  database.problem not in found]
        return [' '.join(reason.split()) for reason in found]


def _has_page(conf: cfg.ConfigOpts) -> bool:
    """Whether there is a page, which users of the node alone may see."""
    wanted = conf.metrics.page
    host = conf.metrics.listen.rpartition(':')[0].strip('[]')
    return wanted == options.ALWAYS or (
        wanted == options.LOOPBACK and ip_text.address(host).is_loopback)
