# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The state of the agent as JSON values for a client.

All input is frozen: the last view, the last reasons and the last names.  The
reference of ovn-network-agent-ctl documents the keys, which must not change.
"""

from ovn_network_agent import model
from ovn_network_agent import version
from ovn_network_agent.control import engine_report
from ovn_network_agent.control import moments
from ovn_network_agent.control import names as people
from ovn_network_agent.control import readiness
from ovn_network_agent.control import since as times


def build(snapshot, reasons, databases, names, mode, standings=(), waiting=(),
          overlap='', since=None, reload=None, parts=None):
    """The state of the agent.

    :param snapshot: the last :class:`model.Snapshot`, or None
    :param reasons: tuple of reasons why the agent is degraded, or None
        before the first pass
    :param databases: dict of name to :class:`ovsdb.connection.Database`
    :param names: :class:`ovn.directory.Directory`
    :param mode: see :func:`mode.name`
    :param standings: tuple of :class:`forward.standing.Standing`
    :param waiting: tuple of str: the conditions that a stop waits for
    :param overlap: result of :func:`overlaps.standing`
    :param since: :class:`since.Since`, or None
    :param reload: :class:`reloads.Answer` of the last reload, or None
    :param parts: :class:`runtime.inside.Inside`, None without a loop
    :returns: dict of JSON values
    """
    node = snapshot.node if snapshot else None
    since = since or times.Since()
    routers = _routers(snapshot, names)
    groups = [_group(snapshot, group, names, routers, since)
              for group in (snapshot.groups if snapshot else ())]
    return {
        'version': version.STRING,
        'mode': mode,
        'chassis': node.chassis if node else '',
        'hostname': node.hostname if node else '',
        'phase': (node.phase if node else model.Phase.RESTORING).value,
        'drains': sorted(node.drains) if node else [],
        'drains_since': {drain: since.drains[drain] for drain
                         in (sorted(node.drains) if node else ())
                         if drain in since.drains},
        'degraded': list(reasons or ()),
        'waiting': list(waiting),
        'reload': reload.json() if reload else None,
        'overlap': overlap,
        'databases': {
            name: {'connected': database.connected,
                   'trouble': database.trouble,
                   'since': moments.text(database.since)}
            for name, database in databases.items()},
        'groups': sorted(groups, key=lambda group: group['name']),
        'routers': [routers[uuid] for uuid in sorted(routers)],
        'vips': [_vip(standing) for standing in standings],
        **engine_report.build(parts)}


def _vip(standing):
    vip = standing.vip
    return {
        'address': vip.address, 'managed': vip.managed,
        'state': standing.state.value, 'reason': standing.reason,
        'rules': [{
            'proto': rule.proto, 'port': rule.port,
            'dest_port': rule.dest_port, 'masquerade': rule.masquerade,
            'checked': rule.check is not None,
            'backends': [{'address': backend.address,
                          'weight': backend.weight, 'alive': backend.alive,
                          'why': backend.why}
                         for backend in rule.destinations]}
            for rule in vip.rules]}


def _group(snapshot, group, names, routers, since):
    node = snapshot.node
    own = group.candidate(node.chassis)
    wish = readiness.wish(group, node.drains)
    stays = readiness.stays(group, node.chassis, names.hostname)
    found = {
        'name': group.name, 'table': group.table, 'uuid': group.key,
        'routers': list(group.routers), 'state': group.state.value,
        'wish': wish, 'drained': own.drained, 'stays': stays,
        'ports': [_port(port, snapshot, since) for port in group.ports],
        'candidates': [{
            'chassis': c.chassis, 'hostname': names.hostname(c.chassis),
            'priority': c.priority, 'known': c.known, 'drained': c.drained,
            'earlier': c.earlier} for c in sorted(
                group.candidates, key=lambda c: (-c.priority, c.chassis))]}
    found['label'] = people.of_group(found, routers)
    found['pending'] = list(_pending(found, own, routers, names,
                                     node.overlap or node.overlapping))
    return found


def _port(port, snapshot, since):
    router, gateway = _gateway(snapshot, port)
    handover = gateway.handover if gateway else model.Handover.NONE
    return {'name': port.redirect.removeprefix(model.REDIRECT),
            'router': router.uuid if router else '',
            'networks': list(port.networks), 'chassis': port.chassis,
            'here': port.chassis == snapshot.node.chassis,
            'handover': handover.value,
            'handover_since': since.handovers.get(gateway.lrp, '')
            if gateway else ''}


def _gateway(snapshot, port):
    """(:class:`model.Router`, :class:`model.GatewayPort`) of a group's port.

    Both are None for a port whose router does not concern this chassis.
    """
    return next(((router, gateway) for router in snapshot.routers
                 for gateway in router.ports
                 if model.REDIRECT + gateway.lrp == port.redirect),
                (None, None))


def _pending(group, own, routers, names, overlap):
    """The steps to the wished state that are still to come, texts."""
    if group['wish'] and not group['stays']:
        for port in group['ports']:
            name = people.of_port(port, group, routers)
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


def _routers(snapshot, names):
    """The routers of the groups, and others that concern this chassis.

    :returns: dict of UUID to dict of JSON values
    """
    if snapshot is None:
        return {}
    wanted = {uuid for group in snapshot.groups for uuid in group.routers}
    wanted |= {router.uuid for router in snapshot.routers}
    # A wish names its routers also when they are not here (any more).
    wanted |= {uuid for uuid in snapshot.node.drains if uuid in names.routers}
    return {uuid: _router(uuid, names) for uuid in wanted}


def _router(uuid, names):
    router = names.routers.get(uuid)
    managed = [route for route in router.default_routes
               if route.managed] if router else []
    return {
        'uuid': uuid, 'name': router.name if router else '',
        'neutron_name': router.label if router else '',
        'routed_by': managed[0].owner.hostname if managed else '',
        'advertised_by': managed[0].advertised if managed else ''}
