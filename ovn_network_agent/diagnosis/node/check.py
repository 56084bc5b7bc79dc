# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks and their statements.

A check has a reader, ``read_``..., which does all the I/O and returns frozen
facts, and a judge, ``judge_``..., which is pure and turns the facts into at
least one :class:`Result`.  The argument of a reader is
:class:`sources.Sources`; a check for both families adds the IP version.

A reader raises :class:`NotChecked` where the check does not concern this node,
as without OVN, and without root.  Any other exception means that the facts
cannot be read: :class:`readers.Unread`, :class:`ovsdb.connection.Unavailable`
of a database, OSError of the kernel, or one of :data:`context.FAILURES` of
FRR.  The examination turns both into "not checked", so a docstring names only
what is special.

The docstring of a judge says what gets which verdict; everything else is OK,
or not checked where the facts do not concern this node.
"""

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
import functools
import typing

from ovn_network_agent import diagnosis
from ovn_network_agent.common import wording
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.forward import rules

if typing.TYPE_CHECKING:
    from ovn_network_agent.diagnosis.node import sources

Verdict = diagnosis.Verdict
_Facts = typing.TypeVar('_Facts')
# The remedy for a socket that root may not use.
DENIED = ('"namei -l" with this path shows the modes, and "journalctl -k '
          '--grep denied" whether AppArmor or SELinux refuses; root of a '
          'rootless container has no privileges over files of others')
# The most addresses that one line has.
_NAMED = 3
# Checks of what a view of OVN needs.
DATABASES = ('ovs-database', 'nb-database', 'sb-database')
VIEW = (*DATABASES, 'chassis')


class NotChecked(Exception):
    """A reader cannot read its facts; the text names the reason."""


class Result(typing.NamedTuple):
    """The result of a judge, without the name of its check."""

    verdict: Verdict
    evidence: str  # what was seen, one line
    remedy: str = ''  # what to do, one line


@dataclasses.dataclass(frozen=True, slots=True)
class Check(typing.Generic[_Facts]):
    """One check of the node."""

    name: str  # lower case with hyphens, the same for ever
    layer: str  # the layer for people
    about: str  # what the check looks for, for the reference
    read: Callable[..., _Facts]
    # Pure, and with at least one result.
    judge: Callable[[_Facts], Iterable[Result]]
    # The checks whose failure explains one of this, which is then not made.
    after: tuple[str, ...] = ()


def ok(evidence: str) -> Result:
    """The layer is as it has to be."""
    return Result(Verdict.OK, evidence)


def warn(evidence: str, remedy: str) -> Result:
    """The layer works, but something about it will harm."""
    return Result(Verdict.WARN, evidence, remedy)


def broken(evidence: str, remedy: str) -> Result:
    """The layer does not do its work."""
    return Result(Verdict.BROKEN, evidence, remedy)


def not_checked(reason: str, remedy: str = '') -> Result:
    """The layer does not concern this node, or cannot be looked at."""
    return Result(Verdict.NOT_CHECKED, reason, remedy)


def of_message(verdict: diagnosis.Verdict, message: str) -> Result:
    """A message of the agent, "what is wrong; what to do"."""
    evidence, _semicolon, remedy = ' '.join(message.split()).partition('; ')
    return Result(verdict, evidence,
                  remedy or 'see the evidence, which names the option or line')


def of_messages(verdict: diagnosis.Verdict, messages: Iterable[str], fine: str
                ) -> list[Result]:
    """The messages, each with the verdict, or OK with the text ``fine``."""
    return [of_message(verdict, message)
            for message in dict.fromkeys(messages)] or [ok(fine)]


def named(addresses: Iterable[typing.Any]) -> str:
    """Some addresses for people, such as '198.51.100.10 and 7 more'."""
    return wording.first(list(map(str, sorted(addresses))), _NAMED)


def of_both(name: str, one: Check[_Facts], about: str = ''
            ) -> tuple[Check[_Facts], Check[_Facts]]:
    """The check, and the same for IPv6, with the text ``about`` if given."""
    return one, dataclasses.replace(
        one, name=name, about=about or f'for IPv6: {one.about}',
        read=functools.partial(_read_ipv6, one.read),
        after=tuple(dict.fromkeys((*DATABASES, *one.after))))


def _read_ipv6(read: Callable[..., _Facts], sources: 'sources.Sources'
               ) -> _Facts:
    """The facts of IPv6; NotChecked on a node that announces none."""
    if not has_ipv6(sources):
        raise NotChecked('no provider network here, and no managed VIP, '
                         'is of IPv6')
    return read(sources, 6)


def has_ipv6(sources: 'sources.Sources') -> bool:
    """Whether the node announces addresses of IPv6, or would as the owner."""
    if any(vip.managed and vip.version == 6
           for vip in rules.load(sources.conf)):
        return True
    snapshot = sources.snapshot()
    places: list[announcing.Place] = [
        *(port for router in snapshot.routers
                for port in (*router.local_ports, *router.hosting_ports)),
              *(port for group in snapshot.groups for port in group.ports),
              *snapshot.networks.values()]
    return any(network.version == 6 for place in places if not place.vni
               for network in announcing.provider_networks(
                   sources.conf, place))
