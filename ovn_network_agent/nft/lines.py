# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The parts of our table in the language of nft.

Pure.  Tried with nft 1.0.6: the value of a map is ``address . port``, because
a colon is a syntax error (trap T59).  A set or a hash hides the family, so the
text names the family there.
"""

import itertools


def block(kind, name, lines):
    """A set or a chain of the table, a list of lines.

    :param kind: 'set' or 'chain'
    :param lines: list of lines without indentation
    """
    return [f'\t{kind} {name} {{',
            *('\t\t' + line for line in lines), '\t}']


def chain(name, base, rules):
    """A base chain, a list of lines, empty without rules.

    :param base: (type, hook, priority)
    :param rules: list of rules, each a list of lines
    """
    if not rules:
        return []
    kind, hook, priority = base
    return block('chain', name, [
        f'type {kind} hook {hook} priority {priority}; policy accept;',
        *itertools.chain(*rules)])


def lookup(before, elements, after=''):
    """A rule that uses a set or map, a list of lines.

    Each element has its own line, so that two tables are easily compared.

    :param before: the text before the set
    :param elements: iterable of str
    :param after: the text after the set
    """
    elements = list(elements)
    return [before + ' {',
            *(f'\t{element},' for element in elements[:-1]),
            '\t' + elements[-1],
            ('} ' + after).rstrip()]


def service(address, proto, port):
    """A key of a set of services."""
    return f'{address} . {proto} . {port}'


def words(family, direction):
    """The key of a packet in sets: its address, protocol and port.

    :param family: 'ip' or 'ip6'
    :param direction: 'd' for the destination, 's' for the source
    """
    return f'{family} {direction}addr . meta l4proto . th {direction}port'
