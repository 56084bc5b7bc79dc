# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The policies in rows about the announcement of addresses.  Pure.

As keys of indexes, each of a router's perhaps 10,000 rows is read once.
"""

import dataclasses
from typing import Any

from ovn_network_agent import ownership
from ovn_network_agent.model import selection
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Uuid

# The kinds of rows whose addresses may have a tag.
ROUTER, NETWORK, MACHINE = TAGGED = ('router', 'network', 'port')
# OVN, ovn-nb(5): Logical_Router from 25.03 on, the other rows later.
_ROUTES = 'dynamic-routing'
_ADVERTISE = 'dynamic-routing-advertise'
# The keys of a policy, and of the option of a router, by column.
_OWN = {ownership.EXT_ID_ANNOUNCE, ownership.EXT_ID_TAG}
KEYS = {'options': {_ADVERTISE, *_OWN}, 'external_ids': _OWN}
ROUTED = {'options': {_ROUTES}}
_BOOLEANS = {'true': True, 'false': False}


@dataclasses.dataclass(frozen=True, slots=True)
class Policy:
    """What one row or several rows say."""

    # From keys of the agent, and from OVN's own options.
    own: tuple[selection.Word, ...] = ()
    native: tuple[selection.Word, ...] = ()
    problems: tuple[str, ...] = ()  # the words that cannot be read
    tags: tuple[selection.Tag, ...] = ()  # at most one of each row

    def __add__(self, other: 'Policy') -> 'Policy':
        return Policy(self.own + other.own, self.native + other.native,
                      self.problems + other.problems,
                      self.tags + other.tags)


NONE = Policy()


def of(index: Any, uuid: Uuid) -> Policy:
    """The policy of a row, by the index "policy" of its table."""
    return next(iter(index.keys_of(uuid)), NONE)


def read(kind: str, row: Row) -> tuple[Policy, ...]:
    """The policy of a row, at most one; ``kind`` is for messages.

    An unreadable value of the agent's key counts as true; of OVN's own option
    only "false" turns off, as in OVN.
    """
    announce = _agent_value(kind, row, ownership.EXT_ID_ANNOUNCE)
    option = columns.entry(row, 'options', _ADVERTISE)
    tag = _agent_value(kind, row, ownership.EXT_ID_TAG)
    if announce is None and option is None and tag is None:
        return ()
    called = getattr(row, 'name', '') or getattr(row, 'logical_port', '')
    name = f'{kind} {called or row.uuid}'
    own, problems = ((), ()) if announce is None else _own(name, *announce)
    native = () if option is None else (selection.Word(
        option.lower() != 'false',
        f'{name} has {_ADVERTISE}={option} in its options'),)
    tags, unreadable = ((), ()) if tag is None else _tag(kind, name, *tag)
    return (Policy(own, native, problems + unreadable, tags),)


def _agent_value(kind: str, row: Row, key: str) -> tuple[str, str] | None:
    """(column, value) of a key of the agent.

    Neutron replaces external_ids at each update, not options.
    """
    for column in (('options', 'external_ids') if kind == ROUTER else
                   ('external_ids',)):
        text = columns.entry(row, column, key)
        if text is not None:
            return column, text
    return None


def _own(name: str, column: str, text: str
         ) -> tuple[tuple[selection.Word, ...], tuple[str, ...]]:
    announce = _BOOLEANS.get(text.strip().lower())
    word = selection.Word(
        announce is not False,
        f'{name} has {ownership.EXT_ID_ANNOUNCE}={text} in its {column}')
    return (word,), () if announce is not None else (
        f'{name}: {column}:{ownership.EXT_ID_ANNOUNCE} = {text!r} is '
        'neither true nor false, and counts as true; set it to one of them, '
        'or remove it',)


def _tag(kind: str, name: str, column: str, text: str
         ) -> tuple[tuple[selection.Tag, ...], tuple[str, ...]]:
    """The tags and the problems; an unreadable one lets the next count."""
    key = f'{name}: {column}:{ownership.EXT_ID_TAG} = {text!r}'
    if kind not in TAGGED:
        return (), (f'{key} has no effect, because a single address has no '
                    'tag of its own; set it in the row of the router or of '
                    'the provider network, or remove it',)
    number = 0 if text.strip() == '0' else ownership.tag(text.strip())
    if number is None:
        return (), (f'{key} is not a tag, so it says nothing; set it to a '
                    f'number from {ownership.TAGS.start} to '
                    f'{ownership.TAGS.stop - 1}, to 0 for no tag, or remove '
                    'it',)
    return (selection.Tag(number, f'{name} has {ownership.EXT_ID_TAG}={text} '
                                  f'in its {column}'),), ()


def is_routed(row: Row) -> bool:
    """Whether OVN routes a router itself, and the agent leaves it alone.

    The agent's own word wins, so both can announce during a replacement.
    """
    text = columns.entry(row, 'options', _ROUTES)
    return (text is not None and text.lower() == 'true' and
            not any(word.announce for each in read(ROUTER, row)
                    for word in each.own))
