# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The notation of ovs-ofctl for the agent's flows.  Pure."""

import re

from ovn_network_agent import resources
from ovn_network_agent.common import ip_text
from ovn_network_agent.openflow import spec as specs

_FAMILY_WORDS = {4: 'ip', 6: 'ipv6'}
_FAMILIES = {word: family for family, word in _FAMILY_WORDS.items()}
_DST_WORDS = {4: 'nw_dst', 6: 'ipv6_dst'}
_OUTPUTS = {'NORMAL': specs.NORMAL, 'IN_PORT': specs.IN_PORT}
_OUTPUT = re.compile(r'output:([0-9]{1,5})')
# with --no-names the reserved ports still have names
_LOCAL = 'LOCAL'
_SET_FIELD = re.compile(
    r'set_field:((?:[0-9a-f]{2}:){5}[0-9a-f]{2})->eth_(src|dst)')
# words of dump-flows that are no part of a flow
_STATISTICS = {'duration', 'n_packets', 'n_bytes', 'idle_age', 'hard_age'}
# ofp-match.c leaves this priority out of the text
_DEFAULT_PRIORITY = 32768
# field names, numbers, masks and the characters between them
_STRAY = re.compile(r'[A-Za-z0-9_=,.:/()+|\[\]-]*')
_NOT_A_MATCH = re.compile(
    r'(?:^|,)(?:cookie|cookie_mask|priority|table|actions?|out_port|'
    r'out_group|[a-z]+_timeout|importance)(?:=|,|$)')


class Unreadable(ValueError):
    """A line that is not in the format of dump-flows."""


def line(step: specs.Step) -> str:
    """A step for ``ovs-ofctl add-flows -``; ValueError for others' strays."""
    spec = step.spec
    if isinstance(spec, specs.StraySpec):
        return _delete(spec, spec.table, stray_match(spec.match))
    if step.verb == specs.DELETE:
        return _delete(spec, 0, match(spec))
    return (f'add table=0,cookie={spec.cookie:#x},priority={spec.priority},'
            f'{match(spec)},actions={_actions(spec)}')


def match(spec: specs.FlowSpec | resources.Flow) -> str:
    """The match of a flow as text."""
    in_port = _LOCAL if spec.in_port == resources.LOCAL else spec.in_port
    words = [f'in_port={in_port}', _FAMILY_WORDS[spec.family]]
    if spec.dst is not None:
        words.append(f'{_DST_WORDS[spec.family]}={spec.dst}')
    return ','.join(words)


def stray_match(text: str) -> str:
    """The match of a stray flow; ValueError if it could be more than that."""
    tag, _colon, fields = text.partition(':')
    if (tag != 'text' or not _STRAY.fullmatch(fields) or
            _NOT_A_MATCH.search(fields)):
        raise ValueError(f'{text!r} is not a match of ovs-ofctl')
    return fields


def parse(text: str) -> list[tuple[int, specs.FlowSpec | specs.StraySpec]]:
    """(cookie, flow) of ``ovs-ofctl dump-flows --no-names``; others' are
    strays.

    :raises Unreadable: when a line is not understood
    """
    found = []
    for row in text.split('\n'):
        row = row.strip()
        # The first line is "NXST_FLOW reply (xid=0x4):", the last is empty.
        if row and not re.match(r'\w+ reply ', row):
            found.append(_parse_line(row))
    return found


def _delete(spec: specs.FlowSpec | specs.StraySpec, table: int, fields: str
            ) -> str:
    return (f'delete_strict table={table},cookie={spec.cookie:#x}/-1,'
            f'priority={spec.priority},{fields}')


def _actions(spec: specs.FlowSpec) -> str:
    words = [f'set_field:{mac}->eth_{end}'
             for end, mac in (('src', spec.set_src), ('dst', spec.set_dst))
             if mac is not None]
    if spec.output in _OUTPUTS.values():
        words.append(spec.output.upper())
    else:
        words += [f'output:{port}' for port in specs.ports_of(spec.output)]
    return ','.join(words)


def _parse_line(row: str) -> tuple[int, specs.FlowSpec | specs.StraySpec]:
    head, arrow, actions = row.partition(' actions=')
    *pairs, last = head.split(', ')
    if not arrow or not pairs or not pairs[0].startswith('cookie='):
        raise Unreadable(f'{row!r} is not a flow')
    values = dict(pair.partition('=')[::2] for pair in pairs)
    try:
        cookie = int(values.pop('cookie'), 16)
        table = int(values.pop('table', '0'))
        *flags, fields = last.split(' ')
        priority, fields = _split_priority(fields)
    except ValueError as error:
        raise Unreadable(f'{row!r}: {error}') from error
    plain = not flags and not values.keys() - _STATISTICS
    ours = _parse_match(cookie, fields)
    if (ours is None or table != 0 or
            priority != specs.PRIORITIES.get(cookie)):
        return cookie, specs.StraySpec(cookie, table, priority,
                                       'text:' + fields)
    decoded = _parse_actions(actions) if plain else None
    return cookie, specs.as_found(
        cookie, priority, *ours, *(decoded or (None, None, specs.OTHER)))


def _split_priority(fields: str) -> tuple[int, str]:
    words = fields.split(',')
    priority = _DEFAULT_PRIORITY
    if words[0].startswith('priority='):
        priority = int(words.pop(0).partition('=')[2])
    return priority, ','.join(words)


def _parse_match(cookie: int, fields: str) -> specs.Match | None:
    values = dict(word.partition('=')[::2] for word in fields.split(','))
    family = next((_FAMILIES[word] for word in _FAMILIES if word in values),
                  None)
    if family is None or values.pop(_FAMILY_WORDS[family]):
        return None
    in_port = values.pop('in_port', '')
    dst = values.pop(_DST_WORDS[family], None)
    try:
        if values:
            return None
        if dst is not None:
            dst = str(ip_text.network(dst))
        number = resources.LOCAL if in_port == _LOCAL else int(in_port)
        specs.check_match(cookie, number, family, dst)
    except ValueError:
        return None
    return number, family, dst


def _parse_actions(text: str) -> specs.Actions | None:
    actions = text.split(',')
    macs = {}
    while actions and (found := _SET_FIELD.fullmatch(actions[0])):
        if found[2] in macs:
            return None
        macs[found[2]] = found[1]
        actions.pop(0)
    return macs.get('src'), macs.get('dst'), _parse_outputs(actions)


def _parse_outputs(actions: list[str]) -> str:
    if len(actions) == 1 and actions[0] in _OUTPUTS:
        return _OUTPUTS[actions[0]]
    found = [port for word in actions if (port := _OUTPUT.fullmatch(word))]
    return specs.ports_text([int(port[1]) for port in found]
                            if len(found) == len(actions) else [])
