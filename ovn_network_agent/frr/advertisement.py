# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Lines of an interface that advertise a router.  Pure.

Two odd numbers mark the agent's lines; one suffices, so that a lost line is no
lost mark.  FRR has no comment or tag for them, the interface's description is
the operator's, and a record on disk would not follow the operator or FRR's
restarts.  Marks come first and go last, so that an incomplete change has one.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import itertools
import re
import typing

from ovn_network_agent import ownership
from ovn_network_agent.frr import lines

_INTERFACE = 'interface'
_OF_ROUTER = ('ipv6 nd ', 'no ipv6 nd ')
# FRR refuses a lifetime below the interval; this order suits any former ones.
_LIFETIME = f'ipv6 nd ra-lifetime {ownership.RA_LIFETIME}'
# says which flags are the agent's, which may be the operator's
_FLAGS = ('ipv6 nd managed-config-flag', 'ipv6 nd other-config-flag')
_INTERVALS = {
    f'ipv6 nd ra-interval msec {ownership.RA_INTERVAL + managed + 2 * other}':
    (managed, other) for managed in (False, True) for other in (False, True)}
_NO_FLAG = (False, False)
_ON = 'no ipv6 nd suppress-ra'
_OFF = 'ipv6 nd suppress-ra'
# neither on-link nor for autonomous configuration of addresses
_PREFIX = 'ipv6 nd prefix {} off-link no-autoconfig'
_OURS = re.compile(_PREFIX.format(r'(\S+)'))
# lines of an operator that the agent would replace, or put into effect
_IN_THE_WAY = (_ON, 'ipv6 nd ra-interval ', 'ipv6 nd ra-lifetime ',
               'ipv6 nd prefix ')


class Found(typing.NamedTuple):
    """The lines of one interface."""

    marks: tuple[str, ...]  # the agent's, lines
    on: bool  # whether there are advertisements at all
    prefixes: tuple[str, ...]  # in lines of the agent's form, sorted
    # lines that prevent the agent's, none with a mark
    in_the_way: tuple[str, ...]
    # which flags the marks name: managed, other
    flags: tuple[bool, bool] = _NO_FLAG
    has_flags: bool = True  # whether there are lines for them

    @property
    def complete(self) -> bool:
        """Whether nothing is missing but maybe prefixes."""
        return self.on and len(self.marks) == 2 and self.has_flags


NOTHING = Found((), False, (), ())


def read(configuration: Sequence[str]) -> dict[str, Found]:
    """What each interface has, by its name."""
    blocks: dict[str, list[str]] = {}
    name = ''
    for line in configuration:
        if not line.startswith(' '):
            kind, _blank, name = line.partition(' ')
            name = name.strip() if kind == _INTERFACE else ''
        elif name and line.strip().startswith(_OF_ROUTER):
            blocks.setdefault(name, []).append(line.strip())
    return {name: _found(block) for name, block in blocks.items()}


def _found(block: Sequence[str]) -> Found:
    marks = tuple(mark for mark in (_LIFETIME, *_INTERVALS) if mark in block)
    # mgmtd and zebra may both show them
    prefixes = {line[1] for line in map(_OURS.fullmatch, block) if line}
    flags = _INTERVALS.get(marks[-1], _NO_FLAG) if marks else _NO_FLAG
    return Found(marks, _ON in block, tuple(sorted(prefixes)),
                 () if marks else tuple(
                     line for line in block if line.startswith(_IN_THE_WAY)),
                 flags, set(itertools.compress(_FLAGS, flags)) <= set(block))


def check(dev: str, prefixes: Iterable[str] = ()) -> None:
    """Check what becomes a part of lines; ValueError for something else."""
    lines.check_device(dev)
    for prefix in prefixes:
        if lines.check_network(prefix).version != 6:
            raise ValueError(f'{prefix} is no prefix of IPv6')


def added(dev: str, prefixes: Sequence[str], flags: Sequence[bool],
          found: Found) -> list[str]:
    """Lines that make an interface advertise exactly some prefixes.

    :param flags: managed, other; see :class:`Found`
    :raises ValueError: as :func:`check`, and for the operator's lines in the
        way
    """
    check(dev, prefixes)
    if found.in_the_way:
        raise ValueError(
            f'interface {dev} of FRR has router advertisements that are not '
            f'ours: {_quoted(found.in_the_way)}; remove them in vtysh with '
            f'{_quoted(["configure terminal", f"interface {dev}"])}, '
            f'{_quoted(map(_undone, found.in_the_way))}')
    interval, = (line for line, each in _INTERVALS.items()
                 if each == tuple(flags))
    return [f'{_INTERFACE} {dev}',
            *(f'no {line}' for line, had, wanted
              in zip(_FLAGS, found.flags, flags, strict=True)
              if had and not wanted),
            _LIFETIME, interval, *itertools.compress(_FLAGS, flags),
            *(f'no ipv6 nd prefix {prefix}' for prefix in found.prefixes
              if prefix not in prefixes),
            *map(_PREFIX.format, prefixes), _ON, 'exit']


def _undone(line: str) -> str:
    return line.removeprefix('no ') if line == _ON else f'no {line}'


def _quoted(texts: Iterable[str]) -> str:
    return ', '.join(f'"{text}"' for text in texts)


def removed(dev: str, found: Found) -> list[str]:
    """Lines that end advertisements of the agent, none without a mark."""
    check(dev)
    if not found.marks:
        return []
    return [f'{_INTERFACE} {dev}', *([_OFF] if found.on else []),
            *(f'no {line}'
              for line in itertools.compress(_FLAGS, found.flags)),
            *(f'no ipv6 nd prefix {prefix}' for prefix in found.prefixes),
            *('no ' + mark for mark in found.marks), 'exit']
