# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The chassis that no longer answer although OVN SB still has them.

A killed ovn-controller leaves its chassis.  But when nb_cfg of NB_Global is
raised, each living one copies it from SB_Global to Chassis_Private, with its
own time.  A chassis is silent when its nb_cfg lags for longer than the limit
and that of others does not.  While nb_cfg is not raised, no time changes.  No
I/O.
"""

from collections.abc import Callable
from collections.abc import Collection
import dataclasses
import time

from oslo_log import log as logging

from ovn_network_agent import ownership
from ovn_network_agent.ovsdb import columns

LOG = logging.getLogger(__name__)

# nb_cfg, and milliseconds since the epoch by the clock of that chassis.
_Report = tuple[int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """The chassis in SB and the nb_cfg that each has reported."""

    own: str = ''  # the name of this chassis
    target: int = 0  # SB_Global's nb_cfg, 0 when unknown
    # Host names and reports by name of the chassis.
    hosts: dict[str, str] = dataclasses.field(default_factory=dict)
    reports: dict[str, _Report] = dataclasses.field(default_factory=dict)
    gateways: Collection[str] = frozenset()  # the chassis with a gateway port


def read(sb: columns.Tables, own: str,
         gateways: Collection[str]) -> Facts | None:
    """The facts in the replica, None when the schema has no such reports."""
    if 'Chassis_Private' not in sb or 'SB_Global' not in sb:
        return None
    return Facts(
        own, max((row.nb_cfg for row in sb['SB_Global'].values()), default=0),
        {row.name: row.hostname for row in sb['Chassis'].values()},
        {row.name: (row.nb_cfg, getattr(row, 'nb_cfg_timestamp', 0))
         for row in sb['Chassis_Private'].values()}, gateways)


def behind(facts: Facts) -> dict[str, _Report]:
    """The reports of other chassis that lag and have no gateway port.

    A first report may be under way.
    """
    return {name: (number, when)
            for name, (number, when) in facts.reports.items()
            if name in facts.hosts and name != facts.own and
            name not in facts.gateways and when > 0 and
            number < facts.target}


def outdated(facts: Facts, limit: float) -> set[str]:
    """Chassis that lag, their reports older than the newest by the limit.

    :param limit: seconds; the set is empty when this chassis lags
    """
    number, when = facts.reports.get(facts.own, (0, 0))
    if not when or facts.own not in facts.hosts:
        return set()
    oldest = 1000 * -limit + max(
        then for name, (_number, then) in facts.reports.items()
        if name in facts.hosts)
    if number < facts.target and when <= oldest:
        return set()
    return {name for name, (_number, then) in behind(facts).items()
            if then <= oldest}


def owners(facts: Facts, names: Collection[str]
           ) -> frozenset[ownership.Owner]:
    """The chassis of these names."""
    return frozenset(ownership.Owner(facts.hosts[name], name)
                     for name in names)


class Silence:
    """Remembers since when the nb_cfg of each chassis has lagged."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lagging: dict[str, tuple[_Report, float]] = {}
        self._session: object = None
        self._due: float | None = None
        self._warned = False
        self.silent: frozenset[ownership.Owner] = frozenset()

    def look(self, facts: Facts | None, session: object,
             limit: float) -> frozenset[ownership.Owner]:
        """Compare the reports of the chassis with the former reports.

        :param session: differs after each loss of SB, None for no result
        :param limit: seconds to lag, by this clock and by the report's age
        """
        if facts is None and session is not None and not self._warned:
            self._warned = True
            LOG.warning('[gateway_drain] silent_chassis_limit has no effect: '
                        'OVN SB has no table Chassis_Private')
        if session is None or session != self._session:
            self._lagging.clear()
        self._session = session
        late = behind(facts) if facts and session is not None else {}
        now = self._clock()
        former, self._lagging = self._lagging, {}
        for name, report in late.items():
            known, began = former.get(name, (None, now))
            # Even of an old number, a sign of life.
            self._lagging[name] = report, began if report == known else now
        ends = {name: began + limit
                for name, (_report, began) in self._lagging.items()}
        self._due = min((end for end in ends.values() if end > now),
                        default=None)
        over = {name for name, end in ends.items() if end <= now}
        self._tell(owners(facts, over & outdated(facts, limit))
                   if facts and over else frozenset(), limit)
        return self.silent

    def due_in(self) -> float | None:
        """Seconds until the next chassis may count as silent."""
        return (None if self._due is None else
                max(0.0, self._due - self._clock()))

    def _tell(self, silent: frozenset[ownership.Owner],
              limit: float) -> None:
        for chassis in sorted(silent - self.silent):
            LOG.warning('Chassis %s has no gateway and has not answered OVN '
                        'for %.0f s; it counts as missing', chassis, limit)
        for chassis in sorted(self.silent - silent):
            LOG.info('Chassis %s does not count as silent any more', chassis)
        self.silent = silent
