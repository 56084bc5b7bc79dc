# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The parts of our table in the language of nft. Pure.

Tried with nft 1.0.6: the value of a map is ``address . port``, because a colon
is a syntax error (trap T59). A set or a hash hides the family, so the text
names it there.
"""

from collections.abc import Iterable
import itertools


def block(kind: str, name: str, lines: Iterable[str]) -> list[str]:
    """The lines of a 'set' or 'chain' of the table, from unindented ones."""
    return [f'\t{kind} {name} {{',
            *('\t\t' + line for line in lines), '\t}']


def chain(name: str, base: tuple[str, str, str], rules: list[list[str]]
          ) -> list[str]:
    """The lines of a chain of (type, hook, priority), none without rules."""
    if not rules:
        return []
    kind, hook, priority = base
    return block('chain', name, [
        f'type {kind} hook {hook} priority {priority}; policy accept;',
        *itertools.chain(*rules)])


def lookup(before: str, elements: Iterable[str], after: str = '') -> list[str]:
    """The lines of a rule that uses a set or map.

    Each element has its own line, so that two tables are easily compared.
    """
    elements = list(elements)
    return [before + ' {',
            *(f'\t{element},' for element in elements[:-1]),
            '\t' + elements[-1],
            ('} ' + after).rstrip()]


def service(address: str, proto: str, port: int) -> str:
    """A key of a set of services."""
    return f'{address} . {proto} . {port}'


def address_match(family: str, direction: str) -> str:
    """The key of a packet in sets: address ('d' or 's'), protocol, port."""
    return f'{family} {direction}addr . meta l4proto . th {direction}port'
