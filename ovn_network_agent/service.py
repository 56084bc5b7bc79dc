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

"""The service: databases, trigger, loop and the phases of its life."""

import contextlib
import socket
import threading
import time

from oslo_log import log as logging
from oslo_service import backend as service_backend
from oslo_service.backend import exceptions as service_exceptions

from ovn_network_agent import backoff
from ovn_network_agent import model
from ovn_network_agent import notify
from ovn_network_agent import reconciler
from ovn_network_agent import trigger as triggers
from ovn_network_agent import trouble
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.conf import reload
from ovn_network_agent.conf import validate
from ovn_network_agent.netlink import watch
from ovn_network_agent.ovn import connection
from ovn_network_agent.ovn import events
from ovn_network_agent.ovn import view
from ovn_network_agent.privileged import netlink as privileged_netlink

# Must come before the library's own service module is imported; eventlet is
# its default.
with contextlib.suppress(service_exceptions.BackendAlreadySelected):
    service_backend.init_backend(service_backend.BackendType.THREADING)
from oslo_service import service  # noqa: E402

LOG = logging.getLogger(__name__)

# What may be gone when a link changes.
KERNEL_BACKENDS = ('link', 'sysctl', 'address', 'neighbour', 'route', 'rule')

# Seconds between the withdrawal and the removal of what forwards, at the end.
# A withdrawal took 0.1 to 0.4 s until the fabric acted on it, northd and
# ovn-controller about as long (two gateways, in the lab).
SETTLE = 0.5

# Longest sleep of the loop, seconds; only an upper bound, every event wakes.
LONGEST_WAIT = 3600.0


class AgentService(service.Service):
    """Runs the loop on a thread of its own.

    :param conf: the oslo.config ConfigOpts
    :param drivers: list of :class:`drivers.base.Driver`
    :param backends: list of :class:`backends.base.Backend`
    """

    def __init__(self, conf, drivers, backends):
        super().__init__(threads=1)
        self._conf = conf
        self._drivers = drivers
        self.trigger = triggers.Trigger(conf.event_coalesce)
        self._handlers = {}
        self._databases = self._make_databases()
        self._view = view.View(conf, self._databases)
        for backend in backends:
            backend.attach(base.Context(self._databases,
                                        lambda: self._view.hostname))
        self._reconciler = reconciler.Reconciler(
            drivers, backends, lambda reason: self.trigger.fire(reason))
        self._phase = model.Phase.RESTORING
        self._stop = threading.Event()
        self._hurry = threading.Event()
        self._done = threading.Event()
        self._ready = False
        self._next_full = 0.0
        self._degraded = None
        self._known_troubles = frozenset()
        self._pass_retries = backoff.Retries()
        self.complete = None
        self._threads = []
        self._watch = watch.LinkWatch(
            self._kernel_changed,
            neighbour_devices=(ownership.VETH_DEFAULT,
                               ownership.VETH_PROVIDER),
            own_ports=self._own_ports, owned=self._owns_route)

    # -- life cycle (called by main) --------------------------------------

    def start(self):
        """Start the loop and the connections; returns at once."""
        self._own_port = privileged_netlink.port()
        self._watch.start()
        self._spawn('loop', self._loop)
        for database in self._databases.values():
            self._spawn('connect-%s' % database.name, self._connect,
                        database)

    def stop(self, graceful=False):
        """Begin the orderly stop; a second call cuts it short."""
        if self._stop.is_set():
            LOG.warning('Second stop request: not waiting any longer')
            self._hurry.set()
        self._stop.set()
        self.trigger.fire('stop', urgent=True)

    def wait(self, timeout=None):
        """Wait for the end of the loop.

        :param timeout: seconds or None
        :returns: True when it has ended
        """
        return self._done.wait(timeout)

    def reset(self):
        """Take in changed configuration (SIGHUP)."""
        notify.notify(RELOADING=1, MONOTONIC_USEC=int(
            time.monotonic() * 1000000))
        try:
            reload.reload(self._conf)
        except validate.ConfigError as e:
            LOG.error('The configuration stays as it was: %s', e)
        self._next_full = 0.0
        self.trigger.fire('configuration', urgent=True)
        notify.notify(READY=1)

    def plan(self, timeout):
        """What a pass would do; for the dry run.

        :param timeout: seconds to wait for the databases
        :returns: (list of (verb, resource), :class:`reconciler.Outcome`)
        :raises ovn.view.NotReady: when OVN could not be loaded in time
        """
        for database in self._databases.values():
            self._spawn('connect-%s' % database.name, self._connect,
                        database)
        deadline = time.monotonic() + timeout
        while True:
            self.trigger.wait(1.0)
            try:
                snapshot = self._view.snapshot(model.Phase.RUNNING)
                return self._reconciler.plan(snapshot)
            except view.NotReady:
                if time.monotonic() > deadline or self._stop.is_set():
                    raise

    def close(self):
        """Give back connections, threads and backends."""
        self._stop.set()
        self._watch.stop()
        limit = 0.0 if self._hurry.is_set() else connection.CLOSE_TIMEOUT
        for database in self._databases.values():
            database.stop(limit)
        for handler in self._handlers.values():
            handler.stop()
        self._reconciler.close()

    # -- the kernel -------------------------------------------------------

    def _own_ports(self):
        """Netlink ports whose changes are ours and wake nobody."""
        return {self._own_port}

    def _owns_route(self, table, dst):
        """Whether a route is believed to be ours (on the watch's thread)."""
        tracker = self._reconciler.tracker
        return any(
            tracker.existing(resources.Ref(kind.kind, (table, dst)))
            for kind in (resources.KernelRoute, resources.AnnouncedRoute))

    def _kernel_changed(self, kind):
        """Somebody else changed something (on the watch's thread)."""
        stale = KERNEL_BACKENDS if kind == 'link' else (kind,)
        self.trigger.fire('kernel:%s' % kind, stale=stale)

    # -- databases --------------------------------------------------------

    def _make_databases(self):
        remotes = {'nb': self._conf.ovn.ovn_nb_remote,
                   'sb': self._conf.ovn.ovn_sb_remote,
                   'ovs': self._conf.ovs.ovsdb_connection}
        databases = {}
        for name, remote in remotes.items():
            self._handlers[name] = events.Handler()
            databases[name] = connection.Database(
                name, _text(remote), self._handlers[name],
                self._conf.ovn.ovsdb_connection_timeout,
                self._conf.ovn.ovsdb_probe_interval)
        self._subscribe(databases)
        return databases

    def _subscribe(self, databases):
        for owner, wanted in self._watches():
            databases[wanted.database].require(wanted.table, wanted.columns)
            self._handlers[wanted.database].watch_event(
                events.WakeEvent(owner, wanted, self.trigger))
        for name, table, clauses in events.CONDITIONS:
            databases[name].only(table, clauses)

    def _watches(self):
        for wanted in events.VIEW:
            yield 'view', wanted
        for driver in self._drivers:
            for wanted in driver.events():
                yield driver.name, wanted

    def _connect(self, database):
        """Try for ever; a gateway must come up whenever OVN does."""
        retries = backoff.Retries()
        said = None
        while not self._stop.is_set():
            try:
                database.start()
                self.trigger.fire('%s loaded' % database.name, urgent=True)
                return
            except Exception as e:
                if str(e) != said:
                    LOG.warning('%s: %s; trying for ever', database.name, e,
                                exc_info=not isinstance(
                                    e, connection.Unavailable))
                said = str(e)
                retries.note({database.name}, {database.name})
                self._stop.wait(min(retries.due_in(),
                                    self._conf.ovn.retry_max_interval))
                retries.take_due()

    # -- the loop ---------------------------------------------------------

    def _spawn(self, name, target, *args):
        thread = threading.Thread(target=target, args=args, name=name,
                                  daemon=True)
        self._threads.append(thread)
        thread.start()

    def _loop(self):
        try:
            self._run_without_ovn()
            while not self._stop.is_set():
                wake = self.trigger.wait(self._timeout())
                if not self._stop.is_set():
                    self._guarded_pass(wake or triggers.Wake(('interval',)))
            self._finish()
        finally:
            self._done.set()

    def _timeout(self):
        times = [self._next_full - time.monotonic(), LONGEST_WAIT]
        retry = self._reconciler.next_retry()
        # What is due stays due as long as no pass gets that far.
        if retry is not None and self._pass_retries.due_in() is None:
            times.append(retry)
        return max(0.0, min(times))

    def _run_without_ovn(self, wake=None, waiting_for=()):
        """A pass while there is no view of OVN (yet, or for a moment).

        It sets up what needs no OVN, repairs what is gone, and tries again
        what failed.  Nothing is removed: what a former run left may be in
        use.
        """
        snapshot = self._view.last or model.Snapshot(
            self._bare_node(self._phase))
        try:
            outcome = self._reconciler.run(
                snapshot, wake.stale if wake else (), prune=False)
        except Exception:
            LOG.exception('Setting up the node failed; it will be repeated')
            return
        self._report_degraded(waiting_for + tuple(outcome.degraded))

    def _bare_node(self, phase):
        return model.Node('', socket.gethostname(), phase,
                          view.relevant_devices(self._conf, ()))

    def _guarded_pass(self, wake):
        """One pass; whatever goes wrong in it must not end the loop."""
        try:
            self._pass(wake)
        except view.NotReady as e:
            self._run_without_ovn(wake, ('waiting for OVN: %s' % e,))
            self._next_full = time.monotonic() + backoff.FIRST
        except Exception as e:
            self._pass_failed(e)

    def _pass_failed(self, error):
        """Say it once in full, then wait longer and longer."""
        reason = 'a pass failed: %s: %s' % (type(error).__name__, error)
        if (reason,) == self._degraded:
            LOG.error('Again, %s', reason)
        else:
            LOG.exception('A pass failed; the last good state stays')
        self._report_degraded((reason,))
        self._pass_retries.take_due()
        self._pass_retries.note({'pass'}, {'pass'})
        self._next_full = time.monotonic() + self._pass_retries.due_in()

    def _pass(self, wake):
        started = time.monotonic()
        full = started >= self._next_full
        # Before anything can fail: what was said must not be forgotten.
        self._reconciler.doubt(wake.stale)
        snapshot = self._view.snapshot(model.Phase.RUNNING, full)
        self._phase = model.Phase.RUNNING
        outcome = self._reconciler.run(snapshot, full=full)
        self._pass_retries.note(set(), {'pass'})
        if full:
            self._next_full = started + self._conf.reconcile_interval
        LOG.debug('Pass for %s: %d changes in %.1f ms%s',
                  ', '.join(wake.reasons), outcome.changes,
                  (time.monotonic() - started) * 1000,
                  ' (full)' if full else '')
        self._report(outcome, self._troubles(snapshot))
        if not self._ready and not outcome.pending:
            self._ready = True
            LOG.info('First complete pass done: %d routers',
                     len([r for r in snapshot.routers if r.local_ports]))
            notify.notify(READY=1)

    def _troubles(self, snapshot):
        """What the snapshot contains and nobody can handle; logged once."""
        troubles = trouble.of(snapshot, self._conf.bridge_dev)
        for reason in troubles:
            if reason not in self._known_troubles:
                LOG.warning('%s', reason)
        self._known_troubles = frozenset(troubles)
        return troubles

    def _report(self, outcome, troubles=()):
        self._report_degraded((*outcome.degraded, *troubles))

    def _report_degraded(self, reasons):
        disconnected = tuple(
            '%s is not connected' % connection.SCHEMAS[name]
            for name, database in self._databases.items()
            if database.started and not database.connected)
        reasons += disconnected
        if reasons == self._degraded:
            return
        if reasons:
            LOG.warning('Degraded (%d): %s', len(reasons),
                        '; '.join(reasons[:10]))
        elif self._degraded:
            LOG.info('No longer degraded')
        notify.notify(STATUS='degraded: %s' % '; '.join(reasons[:3])
                      if reasons else 'in sync')
        self._degraded = reasons

    # -- the end ----------------------------------------------------------

    def _finish(self):
        """The ordinary pass with nothing desired, until all is gone."""
        notify.notify(STOPPING=1)
        self._phase = model.Phase.STOPPED
        if not self._conf.cleanup_on_shutdown:
            LOG.info('Stopping; everything stays as it is '
                     '(cleanup_on_shutdown is off)')
            self.complete = True
            return
        deadline = time.monotonic() + self._conf.shutdown_timeout
        self._withdraw(deadline)
        reasons = ['not begun']
        while reasons and not self._hurry.is_set():
            reasons = self._clean_up_once(deadline)
            if time.monotonic() >= deadline:
                break
            if reasons:
                self.trigger.wait(0.2)
        self.complete = not reasons
        if reasons:
            LOG.error('Clean-up is not complete: %s', '; '.join(reasons))
        else:
            LOG.info('Clean-up complete')

    def _withdraw(self, deadline):
        """First what the fabric and OVN see; then give them time to act.

        Packets go on coming for a moment, from both sides.  They are still
        forwarded then, and none takes the main table's default route
        because a rule has gone before the traffic it was for.
        """
        before = len(self._reconciler.tracker.actual())
        self._clean_up_once(deadline, resources.Stage.NORTHBOUND)
        if len(self._reconciler.tracker.actual()) < before:
            self._hurry.wait(max(0.0, min(
                SETTLE, deadline - time.monotonic())))

    def _clean_up_once(self, deadline, down_to=resources.Stage.LINK):
        try:
            outcome = self._reconciler.run(self._last_view(),
                                           down_to=down_to)
            if outcome.pending:
                self._wait_beside(deadline)
                outcome = self._reconciler.run(self._last_view(),
                                               down_to=down_to)
        except Exception as e:
            LOG.exception('A pass of the clean-up failed')
            return ['%s: %s' % (type(e).__name__, e)]
        return outcome.degraded + ['%s still works' % name
                                   for name in outcome.pending]

    def _wait_beside(self, deadline):
        """Wait for work beside the loop; a second stop request ends it."""
        while (not self._hurry.is_set() and time.monotonic() < deadline and
               not self._reconciler.wait_beside(0.1)):
            pass

    def _last_view(self):
        """OVN as it is now if possible, else as it was seen last.

        As it is now, because a router may have moved meanwhile, and its
        new owner needs what we wrote for it.
        """
        try:
            return self._view.snapshot(model.Phase.STOPPED)
        except view.NotReady:
            pass
        try:
            return self._view.restate(model.Phase.STOPPED)
        except view.NotReady:
            return model.Snapshot(self._bare_node(model.Phase.STOPPED))


def _text(remotes):
    """A remote option as the text that python-ovs wants."""
    return remotes if isinstance(remotes, str) else ','.join(remotes)
