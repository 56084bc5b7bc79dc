# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The chassis that are gone for good, or do not answer.

A route of a chassis that SB has lacked for long has no agent left to remove
it, so the others do.  Time counts only while SB is connected, in sync and has
this chassis, and again after a loss.  No I/O.

A killed ovn-controller leaves its chassis.  But when nb_cfg of NB_Global is
raised, each living one copies it from SB_Global to Chassis_Private, with its
own time.  A chassis is silent when its nb_cfg lags for longer than the limit
and that of others does not.  While nb_cfg is not raised, no time changes.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
import random
import time
from typing import Any

from oslo_log import log as logging

from ovn_network_agent import ownership
from ovn_network_agent.common import notices
from ovn_network_agent.conf import plugins
from ovn_network_agent.ovn import snapshot
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Tables

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
        previous, self._lagging = self._lagging, {}
        for name, report in late.items():
            known, began = previous.get(name, (None, now))
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


# Most seconds on top of the grace, drawn by each process, so that not all
# agents remove the same route at once.
JITTER = 30.0


class Absence:
    """Remembers since when each chassis has been missing in SB.

    :param jitter: seconds on top of the grace, or None to draw them
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic,
                 jitter: float | None = None) -> None:
        self._clock = clock
        self._jitter = (random.SystemRandom().uniform(0, JITTER)
                        if jitter is None else jitter)
        self._missing: dict[ownership.Owner, float] = {}
        self._session: object = None
        self._due: float | None = None
        # Those that are gone for good.
        self.dead: frozenset[ownership.Owner] = frozenset()

    def look(self, tags: Iterable[ownership.Owner],
             present: Collection[ownership.Owner], session: object,
             grace: float) -> bool:
        """Compare the tags on managed routes with the chassis in SB.

        :param session: differs after each loss of SB, None: not to be trusted
        :param grace: seconds that a host may be missing, 0: for ever
        :returns: whether :attr:`dead` has changed
        """
        counts = session is not None and bool(grace)
        if session != self._session or not counts:
            self._missing.clear()
        self._session = session
        missing = {tag for tag in tags if counts and any(tag) and
                   not known(tag, present)}
        now, before = self._clock(), self.dead
        limit = grace + self._jitter
        self._note(missing, now, limit)
        self.dead = frozenset(
            tag for tag, began in self._missing.items()
            if now >= began + limit)
        self._due = min((began + limit for tag, began in self._missing.items()
                         if tag not in self.dead), default=None)
        return self.dead != before

    def due_in(self) -> float | None:
        """Seconds until the next chassis counts as gone for good."""
        return (None if self._due is None else
                max(0.0, self._due - self._clock()))

    def _note(self, missing: set[ownership.Owner], now: float,
              limit: float) -> None:
        for tag in sorted(self._missing.keys() - missing):
            del self._missing[tag]
            LOG.info('Chassis %s is there again, or has nothing left here',
                     tag)
        for tag in sorted(missing - self._missing.keys()):
            self._missing[tag] = now
            LOG.warning(
                'OVN SB has no chassis %s that answers, and managed rows of '
                'OVN NB have its mark; unless the chassis returns within '
                '%.0f s, they are removed', tag, limit)


def known(tag: ownership.Owner,
          present: Collection[ownership.Owner]) -> bool:
    """Whether a mark is that of a chassis.

    Without its name the host name decides.  The Go program cuts it at the
    first dot, so a short name matches each longer one, both ways.
    """
    if tag.chassis:
        return tag in present or any(
            each.chassis == tag.chassis for each in present)
    short, dot, _domain = tag.hostname.partition('.')
    if dot:
        return any(each.hostname in (tag.hostname, short) for each in present)
    return any(each.hostname.partition('.')[0] == short for each in present)


# For this search alone; they change whenever nb_cfg is counted up.
REPORTS = frozenset({('sb', 'Chassis_Private'), ('sb', 'SB_Global')})
# Tables whose rows say which chassis are there, and what they have left.
TABLES = REPORTS | {
    ('sb', 'Chassis'), ('sb', 'Port_Binding'),
    ('nb', 'Logical_Router_Static_Route'), ('nb', 'NB_Global')}


class AbsentChassis:
    """Compares what chassis have left in OVN with the chassis in SB."""

    def __init__(self, conf: Any, builder: snapshot.Builder,
                 wake: Callable[..., object], jitter: float | None) -> None:
        self._conf = conf
        self._builder = builder
        self._wake = wake
        self._is_wanted = plugins.requested(conf, plugins.ABSENCE)
        self.absence = Absence(jitter=jitter)
        self.silence = Silence()
        #: whether the time of a chassis is counted
        self.counts = False

    def look(self, sb: Tables, session: object) -> None:
        """Find the absent chassis; a change has stale routes read again.

        :param session: see :attr:`connection.Database.session`
        """
        options = self._conf.gateway_drain
        grace = options.stale_chassis_grace_period if self._is_wanted else 0
        limit = options.silent_chassis_limit
        tags, present = hosts(self._builder)
        if not present:
            # Without its own row in SB, nothing else can be missing there.
            session = None
        wanted = grace and limit
        facts = read(
            sb, self._builder.chassis,
            self._builder.index('sb', 'Port_Binding', 'bound').keys()
        ) if wanted else None
        present = present - self.silence.look(
            facts, session if wanted else None, limit)
        if self.absence.look(tags, present, session, grace):
            self._wake('chassis gone or back',
                       stale=(notices.CHASSIS_DELETED,))
        self.counts = (self.absence.due_in() is not None or
                       self.silence.due_in() is not None)


def hosts(builder: snapshot.Builder
          ) -> tuple[set[ownership.Owner], set[ownership.Owner]]:
    """Owners of managed routes and NB_Global entries, and all chassis.

    The latter are empty while SB does not have this chassis.
    """
    names = builder.index('sb', 'Chassis', 'name')
    by_host = builder.index('sb', 'Chassis', 'hostname')
    left = {*builder.index('nb', 'Logical_Router_Static_Route', 'tag').keys(),
            *(ownership.Owner(chassis=name) for name in
              builder.index('nb', 'NB_Global', 'entry').keys())}
    if builder.own_chassis() is None:
        return left, set()
    return left, {ownership.Owner(host, name) for host in by_host.keys()
                  for uuid in by_host.find(host)
                  for name in names.keys_of(uuid)}
