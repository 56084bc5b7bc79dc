# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The state of the agent as JSON values for a client.

All input is frozen.  The reference of ovn-network-agent-ctl documents the
keys, which must not change.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import time
from typing import Any

from ovn_network_agent import model
from ovn_network_agent import version
from ovn_network_agent.control import drains
from ovn_network_agent.control import resource_rows
from ovn_network_agent.control.reports import text
from ovn_network_agent.engine import health as healths
from ovn_network_agent.forward import vip_state as forwarding
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.runtime import pass_log
from ovn_network_agent.runtime import questions
from ovn_network_agent.runtime import reloads
from ovn_network_agent.runtime.process import status as statuses

READY = 'ready'
DEGRADED = 'degraded'
NOT_READY = 'not ready'
# Seconds without a pass, beyond two full intervals, of a stuck loop.  A slow
# pass leaves as much time to others as it took.
STUCK = 60.0

_STOPS = {model.Phase.DRAINING: 'an orderly stop hands gateways over',
          model.Phase.STOPPED: 'an orderly stop cleans up'}


def build(snapshot: model.Snapshot | None, reasons: tuple[str, ...] | None,
          databases: Mapping[str, connection.Database],
          names: directory.Directory, mode: str,
          standings: Iterable[forwarding.VipStatus] = (),
          waiting: Iterable[str] = (), overlap: str = '',
          start_times: drains.StartTimes | None = None,
          reload: reloads.Answer | None = None,
          parts: questions.Internals | None = None,
          verdict: dict[str, Any] | None = None,
          situation: dict[str, Any] | None = None) -> dict[str, Any]:
    """The state of the agent; ``reasons`` is None before the first pass.

    ``verdict`` is of :func:`verdict`, and ``situation`` of
    :class:`situation.Situation`.
    """
    node = snapshot.node if snapshot else None
    start_times = start_times or drains.StartTimes()
    routers = _routers(snapshot, names)
    groups = [_group(snapshot, group, names, routers, start_times)
              for group in snapshot.groups] if snapshot else []
    return {
        'version': version.STRING,
        'verdict': verdict or {'state': NOT_READY, 'reasons': []},
        'up_seconds': (max(0, round(time.time() - parts.started))
                       if parts else None),
        'mode': mode,
        'chassis': node.chassis if node else '',
        'hostname': node.hostname if node else '',
        'phase': (node.phase if node else model.Phase.RESTORING).value,
        'drains': sorted(node.drains) if node else [],
        'drains_since': {drain: start_times.drains[drain] for drain
                         in (sorted(node.drains) if node else ())
                         if drain in start_times.drains},
        'degraded': list(reasons or ()),
        'waiting': list(waiting),
        'reload': reload.json() if reload else None,
        'overlap': overlap,
        'databases': {
            name: {'connected': database.connected,
                   'trouble': database.problem,
                   'since': resource_rows.time_text(database.changed_wall)}
            for name, database in databases.items()},
        'groups': sorted(groups, key=lambda group: group['name']),
        'routers': [routers[uuid] for uuid in sorted(routers)],
        'vips': [_vip(status) for status in standings],
        **engine(parts),
        **(situation or {'addresses': {'counts': {}, 'problem': ''},
                         'bgp': {'sessions': [], 'problem': ''}})}


def _vip(status: forwarding.VipStatus) -> dict[str, Any]:
    vip = status.vip
    return {
        'address': vip.address, 'managed': vip.managed,
        'state': status.state.value, 'reason': status.reason,
        'rules': [{
            'proto': rule.proto, 'port': rule.port,
            'dest_port': rule.dest_port, 'masquerade': rule.masquerade,
            'checked': rule.check is not None,
            'backends': [{'address': backend.address,
                          'weight': backend.weight, 'alive': backend.alive,
                          'why': backend.why}
                         for backend in rule.destinations]}
            for rule in vip.rules]}


def _group(snapshot: model.Snapshot, group: model.GatewayGroup,
           names: directory.Directory, routers: Mapping[str, dict[str, Any]],
           start_times: drains.StartTimes) -> dict[str, Any]:
    node = snapshot.node
    own = group.candidate(node.chassis) or model.Candidate(node.chassis, 0)
    drain_scope = drains.drain_scope(group, node.drains)
    stays = drains.stays(group, node.chassis, names.hostname)
    found = {
        'name': group.name, 'table': group.table, 'uuid': group.key,
        'routers': list(group.routers), 'state': group.state.value,
        'wish': drain_scope, 'drained': own.drained, 'stays': stays,
        'ports': [_port(port, snapshot, start_times) for port in group.ports],
        'candidates': [{
            'chassis': c.chassis, 'hostname': names.hostname(c.chassis),
            'priority': c.priority, 'known': c.known, 'drained': c.drained,
            'earlier': c.earlier} for c in sorted(
                group.candidates, key=lambda c: (-c.priority, c.chassis))]}
    found['label'] = text.name_of_group(found, routers)
    found['pending'] = list(_pending(found, own, routers, names,
                                     bool(node.overlap) or node.overlapping))
    return found


def _port(port: model.GroupPort, snapshot: model.Snapshot,
          start_times: drains.StartTimes) -> dict[str, Any]:
    router, gateway = _gateway(snapshot, port)
    handover = gateway.handover if gateway else model.Handover.NONE
    return {'name': port.redirect.removeprefix(model.REDIRECT),
            'router': router.uuid if router else '',
            'networks': list(port.networks), 'chassis': port.chassis,
            'here': port.chassis == snapshot.node.chassis,
            'handover': handover.value,
            'handover_since': start_times.handovers.get(gateway.lrp, '')
            if gateway else ''}


def _gateway(snapshot: model.Snapshot, port: model.GroupPort
             ) -> tuple[model.Router | None, model.GatewayPort | None]:
    """Both None for a port whose router does not concern this chassis."""
    return next(((router, gateway) for router in snapshot.routers
                 for gateway in router.ports
                 if model.REDIRECT + gateway.lrp == port.redirect),
                (None, None))


def _pending(group: dict[str, Any], own: model.Candidate,
             routers: Mapping[str, dict[str, Any]], names: directory.Directory,
             overlap: bool) -> Iterator[str]:
    if group['wish'] and not group['stays']:
        for port in group['ports']:
            name = text.name_of_port(port, group, routers)
            if port['here']:
                yield f'{name} is here'
            elif port['handover'] != model.Handover.NONE.value:
                to = names.hostname(port['chassis']) or 'another node'
                yield f'{name} is being handed over to {to}'
        if own.priority > 0:
            yield f'priority {own.priority:d} is to be lowered'
        if overlap:
            yield 'ovn-controller is to go on'
    elif not group['wish'] and own.drained not in ('', model.UNFIT):
        yield 'priority is to be restored'


def _routers(snapshot: model.Snapshot | None, names: directory.Directory
             ) -> dict[str, dict[str, Any]]:
    if snapshot is None:
        return {}
    wanted = {uuid for group in snapshot.groups for uuid in group.routers}
    wanted |= {router.uuid for router in snapshot.routers}
    # Its routers may not be here (any more).
    wanted |= {uuid for uuid in snapshot.node.drains if uuid in names.routers}
    return {uuid: _router(uuid, names) for uuid in wanted}


def _router(uuid: str, names: directory.Directory) -> dict[str, Any]:
    router = names.routers.get(uuid)
    managed = [route for route in router.default_routes
               if route.managed] if router else []
    return {
        'uuid': uuid, 'name': router.name if router else '',
        'neutron_name': router.label if router else '',
        'routed_by': managed[0].owner.hostname if managed else '',
        'advertised_by': managed[0].advertised if managed else ''}


def engine(parts: questions.Internals | None) -> dict[str, Any]:
    """The engine's state as in the reference; None without a loop."""
    if parts is None:
        return {'started': '', 'working': '', 'backends': [], 'passes': [],
                'repairs': []}
    backends = parts.reconciler.health
    return {
        'started': resource_rows.time_text(parts.started),
        'working': parts.passes.work,
        'backends': [_backend(each) for each in backends],
        'passes': [_pass(done) for done in parts.passes.last],
        'repairs': [
            {'backend': each.name, 'kind': repair.kind,
             'count': repair.count,
             'last': resource_rows.time_text(repair.last)}
            for each in backends for repair in each.repairs]}


def _backend(health: healths.Health) -> dict[str, Any]:
    retry = (None if health.retry is None else
             round(max(0.0, health.retry - time.monotonic()), 1))
    return {'name': health.name, 'state': health.state,
            'reason': health.unreadable or health.reason,
            'failed': health.failed,
            'last_read': resource_rows.time_text(health.read),
            'retry_in': retry}


def _pass(done: pass_log.Done) -> dict[str, Any]:
    return {'at': resource_rows.time_text(done.at),
            'reasons': list(done.reasons),
            'changes': done.changes, 'seconds': round(done.seconds, 4),
            'full': done.full, 'trouble': done.trouble}


def health(snapshot: model.Snapshot | None, status: statuses.Status,
           interval: int, now: float) -> dict[str, Any]:
    """The health of the agent; without ``reasons`` it is ready.

    A health check comes every few seconds, too often for "status", which asks
    the replicas and ovn-controller.

    :param interval: seconds, ``[DEFAULT] reconcile_interval``
    :param now: monotonic seconds
    """
    phase = snapshot.node.phase if snapshot else model.Phase.RESTORING
    reasons = list(_reasons(phase, status, interval, now))
    return {'health': DEGRADED if reasons else READY, 'phase': phase.value,
            'reasons': reasons}


def verdict(snapshot: model.Snapshot | None, status: statuses.Status,
            interval: int, now: float, troubles: Iterable[str] = ()
            ) -> dict[str, Any]:
    """Whether the agent is well: ``state``, and its ``reasons``.

    :param troubles: of databases that are not connected, which the loop
        reports only with its next pass
    """
    found = health(snapshot, status, interval, now)
    reasons = list(dict.fromkeys((*found['reasons'], *troubles)))
    working = status.is_ready and found['phase'] == model.Phase.RUNNING.value
    return {'state': NOT_READY if not working else
            DEGRADED if reasons else READY, 'reasons': reasons}


def _reasons(phase: model.Phase, status: statuses.Status, interval: int,
             now: float) -> Iterator[str]:
    if phase in _STOPS:
        yield _STOPS[phase]
    yield from status.waiting
    if status.reasons is None or status.reported is None:
        yield 'no pass was made yet'
        return
    yield from status.reasons
    if not status.is_ready and not status.reasons:
        yield 'the first complete pass is not done yet'
    silence = now - status.reported
    if phase is model.Phase.RUNNING and silence > 2 * interval + STUCK:
        yield (f'the last pass ended {silence:.0f} s ago, at a '
               f'reconcile_interval of {interval:d}: the loop is stuck; '
               'restart the agent')
