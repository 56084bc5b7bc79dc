#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The states of a gateway group, drawn from the tables in the code.

Prints the picture in doc/source/contributor/gateway-states.txt; with --write
writes the picture there.
"""

import argparse
import pathlib
import string
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ovn_network_agent.gateways import transitions  # noqa: E402

PICTURE = ROOT / 'doc' / 'source' / 'contributor' / 'gateway-states.txt'
# Columns of the whole picture, and of the names of states.
_WIDTH = 79
_NAME = 14


def matrix(table) -> list[str]:
    """The number of the next state, by state and condition.

    States that go on in the same way share a line.
    """
    numbers = {state: number for number, state
               in enumerate(table.states, 1)}
    rows = {}
    for state, number in numbers.items():
        rows.setdefault(tuple(
            '.' if (state, condition) in table.impossible else
            numbers[table.after(state, condition)]
            for condition in table.conditions), []).append(number)
    letters = string.ascii_lowercase[:len(table.conditions)]
    return [_line('', letters), *(
        _line('from ' + _ranges(found), after)
        for after, found in rows.items())]


def _line(head, cells):
    return f'{head:<{_NAME + 3}}' + ''.join(f'{cell:>3}' for cell in cells)


def _ranges(numbers):
    """Numbers in words: '1-3, 5'."""
    runs = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ', '.join(str(first) if first == last else f'{first}-{last}'
                     for first, last in runs)


def legend(table) -> list[str]:
    """The meaning of the states and conditions, and the wishes of the drivers.
    """
    lines = []
    for number, state in enumerate(table.states, 1):
        lines += _entry(
            f'{number:>2} {state.value:<{_NAME}}',
            f'{table.meanings[state]} {wanted(table.wants[state])}')
    lines.append('')
    for letter, condition in zip(string.ascii_lowercase, table.conditions,
                                 strict=False):
        lines += _entry(f'{letter:>2}', table.meanings[condition] +
                        _next(table, condition))
    return lines


def _next(table, condition):
    """The next state of a condition, if it is the same for all states."""
    after = {table.after(state, condition) for state in table.states
             if (state, condition) not in table.impossible}
    return f' -> {after.pop().value}' if len(after) == 1 else ''


def wanted(wants):
    """The wishes of the drivers in words."""
    words = []
    if wants.order is not transitions.Order.AS_IT_IS:
        words.append('order: ' + wants.order.value)
    words += [name for name in ('relay', 'announce', 'forward', 'overlap',
                               'hold')
              if getattr(wants, name)]
    return f'[{", ".join(words)}]' if words else ''


def _entry(head, text):
    return textwrap.wrap(text, _WIDTH, initial_indent=head + ' ',
                         subsequent_indent=' ' * (len(head) + 1))


def picture(tables=transitions.TABLES) -> str:
    """All tables."""
    parts = []
    for table in tables:
        parts += [table.name, '=' * len(table.name), '', *legend(table),
                  '', 'Next state, by condition (a dot: cannot occur):', '',
                  *matrix(table), '', '']
    return '\n'.join(line.rstrip() for line in parts).rstrip() + '\n'


def main():
    """Print or write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', action='store_true',
                        help=f'write {PICTURE.relative_to(ROOT)}')
    if parser.parse_args().write:
        PICTURE.write_text(picture())
    else:
        print(picture(), end='')


if __name__ == '__main__':
    main()
