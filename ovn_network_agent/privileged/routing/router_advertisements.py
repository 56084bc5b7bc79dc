# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry points for router advertisements of FRR, of marked
interfaces alone: the running configuration has passwords.
"""

from collections.abc import Callable
from collections.abc import Sequence
import typing

from ovn_network_agent import privileged
from ovn_network_agent.frr import advertisement
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import checks
from ovn_network_agent.privileged.routing import vty
from ovn_network_agent.privileged.routing import vtysh

_DAEMONS = (vty.MGMTD, 'zebra')
_LINES: dict[str, Callable[..., list[str]]] = {
    'adds': advertisement.added, 'deletes': advertisement.removed}


@privileged.frr.entrypoint
def read() -> list[list[typing.Any]]:
    """Read the advertisements with a mark of the agent: [interface, whether no
    line is missing, prefixes, flags "managed" and "other"].
    """
    return [[dev, found.complete, list(found.prefixes), list(found.flags)]
            for dev, found in sorted(_read().items()) if found.marks]


@privileged.frr.change
def change(adds: checks.Items, deletes: checks.Items) -> list[typing.Any]:
    """Make interfaces advertise this node, then end that on marked others.

    :param adds: each [interface, prefixes, flags]; ``deletes`` [interface]
    :returns: as :func:`vtysh.change_static`
    """
    refused, fitting = checks.items(('adds', _wanted, adds),
                                    ('deletes', _unwanted, deletes))
    configuration = []
    present = _read() if fitting else {}
    for name, index, item in fitting:
        found = present.get(item[0], advertisement.NOTHING)
        try:
            configuration += _LINES[name](*item, found)
        except ValueError as error:
            refused.append([name, index, str(error)])
    return [refused, vtysh.configure(configuration, _DAEMONS)
            if configuration else '']


def _wanted(dev: str, prefixes: Sequence[str], flags: Sequence[bool]
            ) -> tuple[typing.Any, ...]:
    advertisement.check(dev, checks.sequence(prefixes, 'prefixes'))
    limits.current().check_advertisement(dev, prefixes)
    managed, other = map(checks.boolean, checks.sequence(flags, 'flags'))
    return dev, prefixes, (managed, other)


def _unwanted(dev: str) -> tuple[typing.Any, ...]:
    advertisement.check(dev)
    return (dev,)


def _read() -> dict[str, advertisement.Found]:
    return advertisement.read(vtysh.running_lines(
        _DAEMONS, ('zebra',)))
