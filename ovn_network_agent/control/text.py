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

"""What the commands answer, for people."""

from ovn_network_agent import model
from ovn_network_agent.conf import mode


def of_change(done):
    """The answer to drain and undrain.

    :param done: dict, see :mod:`maintenance`
    :returns: text of one or more lines
    """
    what = ('all routers' if done['wanted'] == [model.ALL] else
            'router %s' % ', '.join(done['wanted']))
    lines = ['%s of %s: %s' % (
        done['command'], what,
        'written' if done['changed'] else 'nothing to change')]
    lines.append('drains now: %s' % (', '.join(done['drains']) or 'none'))
    for stay in done.get('stays', ()):
        lines.append('stays here: %s of %s: %s' % (
            stay['group'], ', '.join(stay['routers']), stay['reason']))
    lines += ['forced: %s' % text for text in done.get('forced', ())]
    return '\n'.join(lines) + '\n'


def of_status(found):
    """The state of the agent.

    :param found: dict, see :mod:`report`
    :returns: text of several lines
    """
    full = found['mode'] != mode.FORWARDS_ONLY
    lines = ['ovn-network-agent %s on %s (%s): %s' % (
        found['version'], found['hostname'] or '?',
        'chassis %s' % (found['chassis'] or 'not known yet') if full
        else found['mode'], found['phase'])]
    lines += ['database %s: %s' % (
        name, 'connected' if state['connected'] else state['trouble'])
        for name, state in sorted(found['databases'].items())]
    if full:
        lines.append('drains: %s' % (', '.join(found['drains']) or 'none'))
    if found['overlap']:
        lines.append('overlap: %s' % found['overlap'])
    lines.append('degraded: %s' % ('no' if not found['degraded'] else ''))
    lines += ['  %s' % reason for reason in found['degraded']]
    lines[-1] = lines[-1].rstrip()
    lines += ['stopping, and waiting for: %s' % what
              for what in found['waiting']]
    routers = {router['uuid']: router for router in found['routers']}
    for group in found['groups']:
        lines += _group(group, routers)
    if found['vips']:
        lines.append('')
    for vip in found['vips']:
        lines += _vip(vip)
    return '\n'.join(line.rstrip() for line in lines) + '\n'


def _vip(vip):
    yield 'vip %s: %s%s' % (
        vip['address'], vip['state'],
        ' (%s)' % vip['reason'] if vip['reason'] else '')
    for rule in vip['rules']:
        dead = ['%s (%s)' % (b['address'], b['why']) if b['why'] else
                b['address'] for b in rule['backends'] if not b['alive']]
        yield '  %s %d: %d backends, port %d%s' % (
            rule['proto'], rule['port'], len(rule['backends']),
            rule['dest_port'],
            ', not checked' if not rule['checked'] else
            ', dead: %s' % ', '.join(dead) if dead else ', all alive')


def _group(group, routers):
    yield ''
    yield 'gateway %s (%s)' % (group['name'], group['table'])
    for uuid in group['routers']:
        yield '  ' + _router(routers[uuid])
    names = {c['chassis']: c['hostname'] for c in group['candidates']}
    for port in group['ports']:
        yield '  port %s: %s%s' % (
            port['name'], 'here' if port['here'] else
            'on ' + names.get(port['chassis'], port['chassis'])
            if port['chassis'] else 'nowhere',
            '' if port['handover'] == 'none' else
            ', handover: ' + port['handover'])
    for candidate in group['candidates']:
        yield '  candidate %s: priority %d%s%s' % (
            candidate['hostname'], candidate['priority'],
            '' if candidate['known'] else ', no chassis in OVN SB',
            ', drained: ' + candidate['drained']
            if candidate['drained'] else '')
    yield '  ' + _drain(group)


def _drain(group):
    """What an operator's wish has come to, one line."""
    if group['pending']:
        return 'not yet as wished: ' + ', '.join(group['pending'])
    if not group['wish']:
        return ('drained: %s' % group['drained']
                if group['drained'] else 'not drained')
    if group['stays']:
        return 'a drain is wished, and it stays: ' + group['stays']
    return 'drained, as wished (%s)' % group['wish']


def _router(router):
    name = router['neutron_name'] or router['name'] or '?'
    text = 'router %s (%s)' % (name, router['uuid'])
    if not router['routed_by']:
        return text
    return '%s: default route by %s, %s' % (
        text, router['routed_by'],
        'proved to be announced by %s' % router['advertised_by']
        if router['advertised_by'] else 'no proof that it is announced')
