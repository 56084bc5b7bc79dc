# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The search for chassis that are gone for good, or do not answer."""

from collections.abc import Callable
from typing import Any

from ovn_network_agent import ownership
from ovn_network_agent.common import notices
from ovn_network_agent.conf import plugins
from ovn_network_agent.ovn import snapshot
from ovn_network_agent.ovn.chassis import absence_marks
from ovn_network_agent.ovn.chassis import unresponsive_chassis
from ovn_network_agent.ovsdb.columns import Tables

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
        self.absence = absence_marks.Absence(jitter=jitter)
        self.silence = unresponsive_chassis.Silence()
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
        facts = unresponsive_chassis.read(
            sb, self._builder.chassis,
            self._builder.index('sb', 'Port_Binding', 'bound').keys()
        ) if wanted else None
        present = present - self.silence.look(
            facts, session if wanted else None, limit)
        if self.absence.look(tags, present, session, grace):
            self._wake('chassis gone or back', stale=(notices.CHASSIS_GONE,))
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
