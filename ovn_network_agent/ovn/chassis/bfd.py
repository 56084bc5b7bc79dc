# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The timers of BFD in OVN's tunnels, one set for the whole fleet.

ovn-northd copies them from NB_Global to SB_Global (ovn-nb(5), options
bfd-min-rx, bfd-min-tx and bfd-mult).  The options are the slowest values of
all agents' requests in external_ids of NB_Global, so all derive the same in
any order of events.  Values other than the mark's are somebody else's, and
stay.
"""

from collections.abc import Collection
from collections.abc import Mapping
import re
import typing
from typing import Any

from ovn_network_agent import ownership
from ovn_network_agent.ovn.writes import commands
from ovn_network_agent.ovsdb import command
from ovn_network_agent.ovsdb.columns import Row

# Milliseconds, milliseconds, packets.
OPTIONS = ('bfd-min-rx', 'bfd-min-tx', 'bfd-mult')
# Of Open vSwitch (ovs-vswitchd.conf.db(5), Interface, bfd).
DEFAULTS = {'bfd-min-rx': 1000, 'bfd-min-tx': 100, 'bfd-mult': 3}
_NUMBER = re.compile('[0-9]{1,9}')


class Fleet(typing.NamedTuple):
    """The part of NB_Global that is about BFD."""

    options: dict[str, str]  # those of OPTIONS that are set
    written: dict[str, str]  # the values of the mark, by option
    # By chassis the numbers of OPTIONS, None for a malformed request.
    requests: dict[str, tuple[int, ...] | None]

    def without(self, hosts: Collection[str]) -> 'Fleet':
        """The same fleet without the requests of some hosts."""
        return self._replace(requests={
            host: values for host, values in self.requests.items()
            if host not in hosts})

    def requesting(self, host: str, values: tuple[int, ...]) -> 'Fleet':
        """The same fleet with another request of a host."""
        return self._replace(requests={**self.requests, host: values})

    @property
    def wanted(self) -> dict[str, str]:
        """The slowest values of all requests that can be read, by option."""
        valid = [values for values in self.requests.values() if values]
        if not valid:
            return {}
        return {option: str(max(values[place] for values in valid))
                for place, option in enumerate(OPTIONS)}

    @property
    def ours(self) -> dict[str, str]:
        """The options that still have the value of the mark."""
        return {option: value for option, value in self.options.items()
                if self.written.get(option) == value}

    @property
    def foreign(self) -> dict[str, str]:
        """The options that other programs have set to unwanted values."""
        wanted, ours = self.wanted, self.ours
        return {option: value for option, value in self.options.items()
                if wanted and option not in ours and
                value != wanted[option]}

    def decided(self) -> 'Fleet':
        """The fleet with the options and the mark that follow.

        Without a request the agents' values go.  With a foreign value none is
        written: half of the three would make a time that nobody chose.
        """
        if not self.requests:
            return self._replace(written={}, options={
                option: value for option, value in self.options.items()
                if option not in self.ours})
        if not self.wanted or self.foreign:
            return self
        return self._replace(
            options=self.wanted, written={
                option: value for option, value in self.wanted.items()
                if option in self.ours or option not in self.options})


def read(row: Row) -> Fleet:
    """The part of a row of NB_Global that is about BFD."""
    return Fleet(
        {option: row.options[option] for option in OPTIONS
         if option in row.options},
        _pairs(row.external_ids.get(ownership.EXT_ID_BFD, '')),
        {host: _request(row.external_ids[ownership.EXT_ID_BFD_REQUEST + host])
         for host in requesters(row)})


def requesters(row: Row) -> list[str]:
    """The chassis with a request in a row of NB_Global."""
    prefix = ownership.EXT_ID_BFD_REQUEST
    return [key.removeprefix(prefix) for key in row.external_ids
            if key.startswith(prefix)]


def detection(values: Mapping[str, str | int]) -> int:
    """Milliseconds until a silent peer with the same timers counts as dead.

    It sends once in the larger of its min_tx and our min_rx (RFC 5880, 6.8.4);
    OVS gives both ends one multiplier.

    :param values: a missing option has the default of Open vSwitch
    :raises ValueError: when a value is no number
    """
    rx, tx, mult = (int(values.get(option) or DEFAULTS[option])
                    for option in OPTIONS)
    return max(rx, tx) * mult


def _request(text: str) -> tuple[int, ...] | None:
    found = _pairs(text)
    if found.keys() != set(OPTIONS):
        return None
    return tuple(int(found[option]) for option in OPTIONS)


def _pairs(text: str) -> dict[str, str]:
    """The words OPTION=NUMBER; other words are left out."""
    pairs = (word.partition('=') for word in text.split())
    return {option: value for option, _sign, value in pairs
            if option in OPTIONS and _NUMBER.fullmatch(value)}


def _text(values: Mapping[str, str | int]) -> str:
    return ' '.join(f'{option}={values[option]}' for option in OPTIONS
                    if option in values)


def external_ids(present: Mapping[str, str], fleet: Fleet) -> dict[str, str]:
    """The external_ids for a fleet; others' keys and newer requests stay."""
    prefix = ownership.EXT_ID_BFD_REQUEST
    found = {key: value for key, value in present.items()
             if key != ownership.EXT_ID_BFD and (
                 not key.startswith(prefix) or
                 key.removeprefix(prefix) in fleet.requests)}
    for host, values in fleet.requests.items():
        if values:
            found[prefix + host] = _text(dict(zip(OPTIONS, values,
                                                  strict=True)))
    if fleet.written:
        found[ownership.EXT_ID_BFD] = _text(fleet.written)
    return found


def in_the_way(fleet: Fleet) -> str:
    """Why the options cannot get the requested values, or ''."""
    if not fleet.foreign:
        return ''
    wanted = fleet.wanted
    named = ', '.join(f'{option} is {value} and not {wanted[option]}'
                      for option, value in sorted(fleet.foreign.items()))
    keys = ' '.join(sorted(fleet.foreign))
    return (f'in options of NB_Global {named}; somebody else has written '
            'this, so it stays, and the agent writes none of the three; '
            f'"ovn-nbctl remove NB_Global . options {keys}" leaves them to '
            'the agent')


class Request(commands.NorthboundCommand):
    """Give this chassis' request the wanted values, or remove the request.

    The transaction also updates the options, and is built again if the row has
    changed.  A request that changes no option is added anyway, so that many
    agents starting at once do not refuse each other; the astray row is
    repaired.

    :param values: the numbers of :data:`bfd.OPTIONS`, None for no request
    :param deleted: names of chassis whose requests are removed as well
    """

    def __init__(self, api: Any, chassis: str, values: tuple[int, ...] | None,
                 deleted: Collection[str] = frozenset()) -> None:
        super().__init__(api)
        self._chassis = chassis
        self._values = values
        self._deleted = deleted

    def run_idl(self, txn: Any) -> None:
        """Change the only row of NB_Global; without it, refuse a request."""
        self.refused = ''
        for row in self.rows('NB_Global').values():
            self._change(txn, row)
            return
        if self._values:
            self.refused = 'the Northbound database has no row NB_Global'

    def _change(self, txn: Any, row: Row) -> None:
        before = read(row)
        fleet = before.without({self._chassis, *self._deleted})
        if self._values:
            fleet = fleet.requesting(self._chassis, self._values)
            self.refused = in_the_way(fleet)
        after = fleet.decided()
        marks = external_ids(row.external_ids, after)
        own = ownership.EXT_ID_BFD_REQUEST + self._chassis
        if after.options == before.options and own in marks and (
                marks == {**row.external_ids, own: marks[own]}):
            if marks != row.external_ids:
                row.setkey('external_ids', own, marks[own])
            return
        if after.options != before.options:
            _verify(txn, row)
            row.options = {
                **{key: value for key, value in row.options.items()
                   if key not in OPTIONS}, **after.options}
        if marks != row.external_ids:
            _verify(txn, row)
            row.external_ids = marks


def _verify(txn: Any, row: Row) -> None:
    for column in ('options', 'external_ids'):
        command.verify(txn, row, column)
