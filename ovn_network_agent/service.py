# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The service: databases, trigger, loop and the phases of its life."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import contextlib
import functools
import threading
import time
from typing import Any
from typing import cast

from oslo_config import cfg
from oslo_log import log as logging
from oslo_service import backend as service_backend
from oslo_service.backend import exceptions as service_exceptions

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.common import backoff
from ovn_network_agent.common import notices
from ovn_network_agent.common import trigger as triggers
from ovn_network_agent.conf import mode
from ovn_network_agent.control import drains
from ovn_network_agent.control.socket import endpoint
from ovn_network_agent.drivers import base as drivers_base
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import reconciler
from ovn_network_agent.forward import health_checks
from ovn_network_agent.forward import source
from ovn_network_agent.gateways import drain
from ovn_network_agent.metrics import egress_probe
from ovn_network_agent.metrics import endpoint as metrics_endpoint
from ovn_network_agent.ovn import view
from ovn_network_agent.ovn.egress import egress_routers
from ovn_network_agent.ovn.writes import priorities
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.privileged.network import netlink as privileged_netlink
from ovn_network_agent.runtime import loop
from ovn_network_agent.runtime import ovn_side
from ovn_network_agent.runtime import questions
from ovn_network_agent.runtime.process import shutdown
from ovn_network_agent.runtime.process import status
from ovn_network_agent.watches import base as watches_base
from ovn_network_agent.watches import kernel
from ovn_network_agent.watches import rate_limit

# Before the import of the library's service module, whose default is eventlet.
with contextlib.suppress(service_exceptions.BackendAlreadySelected):
    service_backend.init_backend(service_backend.BackendType.THREADING)
from oslo_service import service  # noqa: E402

LOG = logging.getLogger(__name__)


class AgentService(service.Service):  # type: ignore[misc]  # untyped
    """Runs the loop on a thread of its own.

    :param side: makes the side of OVN, as :class:`runtime.ovn_side.OvnSide`
    :param retries: of the backends, None to make them
    :param limiter: of the observers, None to make it
    """

    def __init__(self, conf: cfg.ConfigOpts,
                 drivers: list[drivers_base.Driver],
                 backends: Sequence[base.Backend],
                 observers: Sequence[watches_base.Observer] = (),
                 side: Callable[..., Any] = ovn_side.OvnSide,
                 retries: backoff.Retries | None = None,
                 limiter: rate_limit.RateLimit | None = None) -> None:
        super().__init__(threads=1)
        self._conf = conf
        self._limiter = limiter or rate_limit.RateLimit(
            functools.partial(base.doubted_kinds, backends))
        self._stop = threading.Event()
        self._watchdog = status.from_environment()
        probe = egress_probe.of_agent(conf, drivers, backends,
                                      lambda: self._databases, self._watchdog,
                                      self._stop.is_set)
        self._observers: list[watches_base.Observer] = [
            *observers, *([probe] if probe else ()), self._limiter]
        self.trigger = triggers.Trigger(conf.event_coalesce)
        self._limiter.wakes(self.trigger)
        # An OvnSide or an Alone.
        self._side: Any = (
            ovn_side.WithoutOvn(conf) if mode.forwards_only(conf) else
            side(conf, drivers, self.trigger, self._stop, self._observers,
                 rows=self._limiter,
                 tables={egress_routers.TABLE: probe.table} if probe else {}))
        self._forwards = source.Source(conf, health_checks.Checks())
        self._databases: dict[
            str, connection.Database] = self._side.databases
        self._view = cast(view.View, self._side.view)
        for backend in backends:
            backend.attach(self._context())
        self._reconciler = reconciler.Reconciler(
            drivers, backends, lambda reason: self.trigger.fire(reason),
            retries=retries, alive=self._watchdog.alive)
        self._second_stop = threading.Event()
        self._orderly = threading.Event()
        self._done = threading.Event()
        self._ended: Callable[[], None]
        self.status = status.Status(self._databases)
        parts = questions.make(self._reconciler, self.trigger)
        # The endpoints are no observers: they go on when those end.
        self._control = endpoint.Endpoint(
            conf, self._databases, lambda: self._view.last, self.status,
            lambda: self._forwards.vip_statuses,
            lambda: drains.overlap_state(conf), parts)
        self._metrics = metrics_endpoint.Endpoint(
            conf, backends, self._observers, metrics_endpoint.State(
                self.status, self._view, self._databases,
                lambda: self._forwards.vip_statuses, self._stop.is_set,
                parts.passes, self._control.report))
        self._loop = loop.Loop(conf, self._view, self._reconciler,
                               self.trigger, self.status, self._stop,
                               [*self._observers, self._control,
                                self._metrics],
                               self._forwards, parts=parts,
                               counters=self._metrics.record,
                               watched=self._watchdog)
        self._ending = shutdown.Ending(
            conf, self._view, self._reconciler, self.trigger,
            self._second_stop, self._loop.own_node, self._forwards,
            self._metrics.record,
            lambda: {each.name for each in backends
                     if each.database in self._databases and
                     not self._databases[each.database].started})
        # None before the end of the clean-up.
        self.complete: bool | None = None
        self.drain: drain.Drain | None = None
        self._watch = kernel.LinkWatch(
            self._kernel_changed,
            neighbour_devices=(ownership.VETH_DEFAULT,
                               ownership.VETH_PROVIDER),
            own_ports=lambda: {self._own_port}, owned=self._owns_route,
            announced=self._wants_static)

    def _context(self) -> base.Context:
        return base.Context(
            self._databases, lambda: self._view.marks,
            lambda: self._view.chassis, lambda: self._view.dead,
            lambda: self._view.silent, self._wake,
            lambda: self._view.groups, lambda: self._view.viewed)

    # -- life cycle (called by main) --------------------------------------

    def start(self, ended: Callable[[], None] = lambda: None) -> None:
        """Start the loop and the connections; returns at once.

        :param ended: called on another thread when the loop has ended
        """
        self._ended = ended
        self._own_port = privileged_netlink.port()
        self._watchdog.start()
        self._limiter.start(self.trigger)
        self._watch.start()
        for observer in self._observers:
            if observer is not self._limiter:
                observer.start(self.trigger)
        self._control.start(self.trigger)
        self._metrics.start(self.trigger)
        self._forwards.start(self.trigger)
        threading.Thread(target=self._run, name='loop', daemon=True).start()
        self._side.connect()

    def stop(self, graceful: bool = False) -> None:
        """Begin the orderly stop; a second call cuts it short."""
        if self._stop.is_set():
            LOG.warning('Second stop request: not waiting any longer')
            self._second_stop.set()
        self._orderly.set()
        self._stop.set()
        self.trigger.fire('stop', urgent=True)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the loop; returns whether it has ended."""
        return self._done.wait(timeout)

    @property
    def ready(self) -> bool:
        """Whether everything was in place once."""
        return bool(self.status.is_ready)

    def reset(self) -> None:
        """Take in changed configuration (SIGHUP)."""
        self._loop.reload()

    def plan(self, timeout: float,
             phase: model.Phase = model.Phase.RUNNING
             ) -> tuple[list[tuple[str, resources.Resource]], outcome.Outcome]:
        """The changes of a pass for the dry run, each with its verb.

        :param timeout: seconds to wait for the databases
        :raises ovn.view.NotReady: when OVN could not be loaded in time
        """
        return self.plan_of(self.look(timeout, phase))

    def plan_of(self, seen: model.Snapshot
                ) -> tuple[list[tuple[str, resources.Resource]],
                           outcome.Outcome]:
        """The changes of a pass with this view; as :meth:`plan`."""
        return self._reconciler.plan(
            self._forwards.with_rules(seen),
            lambda: ovn_side.guard_limits(
                self._conf, self._view, seen.node.phase))

    def without_ovn(self, phase: model.Phase) -> model.Snapshot:
        """The node alone, where :meth:`look` has not reached OVN."""
        return model.Snapshot(self._loop.own_node(phase))

    def look(self, timeout: float, phase: model.Phase) -> model.Snapshot:
        """The first view; arguments and exceptions as those of :meth:`plan`.
        """
        self._side.connect()
        for observer in self._observers:
            observer.check()
        deadline = time.monotonic() + timeout
        while True:
            try:
                return self._view.snapshot(phase)
            except view.NotReady:
                if time.monotonic() > deadline or self._stop.is_set():
                    raise
            self.trigger.wait(1.0)

    def remove_all(self, restore: bool) -> list[str]:
        """Remove what an agent has left on this node, without the loop.

        :param restore: also give all candidates their earlier priorities,
            unless something is left, as OVN may move gateway ports here then
        :returns: why something may be left
        """
        self._ending.run()
        reasons = [*self._ending.reasons]
        if restore and reasons:
            reasons.append('the lowered priorities in OVN NB stay, because '
                           'removals failed; mend these, and run '
                           '"cleanup --last" again')
        elif restore:
            try:
                priorities.restore(self._databases['nb'],
                                   self._conf.ovn.transaction_timeout)
            except Exception as e:
                reasons.append('the priorities in OVN NB could not be '
                               f'restored: {type(e).__name__}: {e}')
        return reasons

    def restorable(self) -> list[str]:
        """The priorities that :meth:`remove_all` would restore."""
        with self._databases['nb'].rows() as nb:
            return priorities.restorable(nb)

    def close(self) -> None:
        """Close the connections, end the threads, and close the backends.

        Without :meth:`stop` before, the loop ends after its present pass, and
        all objects stay for the next start: the process cannot go on.
        """
        self._stop.set()
        self._forwards.stop()
        self._control.stop()
        self._watch.stop()
        for observer in self._observers:
            observer.stop()
        self._side.close(0.0 if self._second_stop.is_set()
                         else connection.CLOSE_TIMEOUT)
        self._reconciler.close()
        self._metrics.stop()

    # -- the kernel -------------------------------------------------------

    def _owns_route(self, table: int, dst: str) -> bool:
        """Called on the watch's thread."""
        tracker = self._reconciler.tracker
        return any(
            tracker.existing(resources.Ref(kind.kind, (table, dst)))
            for kind in (resources.KernelRoute, resources.AnnouncedRoute,
                         resources.VniRoute))

    def _wants_static(self, dst: str) -> bool:
        """Called on the watch's thread."""
        return self._reconciler.tracker.desired(resources.Ref(
            resources.Announcement.kind,
            (self._conf.frr.vrf_name, dst))) is not None

    def _kernel_changed(self, kind: str, by: str) -> None:
        """Wake the loop for a change by others, on the watch's thread.

        :param by: text that names the change, '' if not known
        """
        self._limiter.notice(notices.ZEBRA_STATIC if kind == kernel.STATIC
                             else notices.kernel(kind), by)

    def _wake(self, reason: str, stale: Iterable[str] = (),
              revived: Iterable[str] = ()) -> None:
        """See :class:`backends.base.Context`."""
        if revived or not stale:
            self.trigger.fire(reason, stale=stale, revived=revived)
            return
        for word in stale:
            self._limiter.notice(word, reason)

    # -- the loop's thread ------------------------------------------------

    def _run(self) -> None:
        try:
            self._loop.run()
            if not self._orderly.is_set():
                return
            status.notify(STOPPING=1, STATUS='draining')
            self._drain()
            self._loop.questions.close('the agent stops: it removes what it '
                                       'has made')
            # A second stop request ends only the drain, not the clean-up.
            self._second_stop.clear()
            for observer in self._observers:
                observer.stop()
            self._forwards.stop()
            self.complete = self._ending.run()
        finally:
            self._loop.questions.close('the agent has stopped')
            self._done.set()
            self._ended()

    def _drain(self) -> None:
        began = time.monotonic()
        self.drain = made = drain.Drain(self._conf, self._second_stop)
        self._loop.drain(made)
        if made.result is not None:
            self._metrics.record.drained(made.result.value,
                                         time.monotonic() - began)
