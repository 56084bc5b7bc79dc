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

"""The state of the agent as JSON values for a client.

All input is frozen: the last view, the last reasons and the last names.  The
reference of ovn-network-agent-ctl documents the keys, which must not change.
"""

from ovn_network_agent import model
from ovn_network_agent import version
from ovn_network_agent.control import readiness


def build(snapshot, reasons, databases, names, mode, standings=(), waiting=(),
          overlap=''):
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
    :returns: dict of JSON values
    """
    node = snapshot.node if snapshot else None
    groups = [_group(snapshot, group, names)
              for group in (snapshot.groups if snapshot else ())]
    return {
        'version': version.STRING,
        'mode': mode,
        'chassis': node.chassis if node else '',
        'hostname': node.hostname if node else '',
        'phase': (node.phase if node else model.Phase.RESTORING).value,
        'drains': sorted(node.drains) if node else [],
        'degraded': list(reasons or ()),
        'waiting': list(waiting),
        'overlap': overlap,
        'databases': {
            name: {'connected': database.connected,
                   'trouble': database.trouble}
            for name, database in databases.items()},
        'groups': sorted(groups, key=lambda group: group['name']),
        'routers': _routers(snapshot, groups, names),
        'vips': [_vip(standing) for standing in standings]}


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
                         for backend in rule.backends]}
            for rule in vip.rules]}


def _group(snapshot, group, names):
    node = snapshot.node
    own = group.candidate(node.chassis)
    wish = readiness.wish(group, node.drains)
    stays = readiness.stays(group, node.chassis, names.hostname)
    ports = [_port(port, node.chassis, _handover(snapshot, port))
             for port in group.ports]
    return {
        'name': group.name, 'table': group.table, 'uuid': group.key,
        'routers': list(group.routers), 'state': group.state.value,
        'wish': wish, 'drained': own.drained, 'stays': stays,
        'pending': list(_pending(own, ports, wish, stays,
                                 node.overlap or node.overlapping)),
        'ports': ports,
        'candidates': [{
            'chassis': c.chassis, 'hostname': names.hostname(c.chassis),
            'priority': c.priority, 'known': c.known, 'drained': c.drained,
            'earlier': c.earlier} for c in sorted(
                group.candidates, key=lambda c: (-c.priority, c.chassis))]}


def _port(port, chassis, handover):
    return {'name': port.redirect.removeprefix(model.REDIRECT),
            'chassis': port.chassis, 'here': port.chassis == chassis,
            'handover': handover.value}


def _handover(snapshot, port):
    """The :class:`model.Handover` of a port."""
    return next((gateway.handover for router in snapshot.routers
                 for gateway in router.ports
                 if model.REDIRECT + gateway.lrp == port.redirect),
                model.Handover.NONE)


def _pending(own, ports, wish, stays, overlap):
    """The steps to the wished state that are still to come, texts."""
    if wish and not stays:
        if own.priority > 0:
            yield f'priority {own.priority:d} is to be lowered'
        for port in ports:
            if port['here']:
                yield f'{port["name"]} is here'
            elif port['handover'] != model.Handover.NONE.value:
                yield f'{port["name"]} is being handed over'
        if overlap:
            yield 'ovn-controller is to go on'
    elif not wish and own.drained not in ('', model.UNFIT):
        yield 'priority is to be restored'


def _routers(snapshot, groups, names):
    """The routers of the groups, and others that concern this chassis."""
    wanted = {uuid for group in groups for uuid in group['routers']}
    wanted |= {router.uuid for router
               in (snapshot.routers if snapshot else ())}
    return [_router(uuid, names) for uuid in sorted(wanted)]


def _router(uuid, names):
    router = names.routers.get(uuid)
    managed = [route for route in router.default_routes
               if route.managed] if router else []
    return {
        'uuid': uuid, 'name': router.name if router else '',
        'neutron_name': router.label if router else '',
        'routed_by': managed[0].chassis if managed else '',
        'advertised_by': managed[0].advertised if managed else ''}
