# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""All checks of a node, made side by side, failures apart."""

from collections.abc import Collection
from collections.abc import Iterable
import concurrent.futures
import threading
import typing

from ovn_network_agent import diagnosis
from ovn_network_agent.common import wording
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.node import agents
from ovn_network_agent.diagnosis.node import check as checks
from ovn_network_agent.diagnosis.node import configuration
from ovn_network_agent.diagnosis.node import gateways
from ovn_network_agent.diagnosis.node import ovn
from ovn_network_agent.diagnosis.node import power
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.node import tenants
from ovn_network_agent.diagnosis.node.bgp import announced
from ovn_network_agent.diagnosis.node.bgp import evpn
from ovn_network_agent.diagnosis.node.bgp import frr
from ovn_network_agent.diagnosis.node.bgp import sessions
from ovn_network_agent.diagnosis.node.kernel import devices
from ovn_network_agent.diagnosis.node.kernel import forwards
from ovn_network_agent.diagnosis.node.kernel import managers
from ovn_network_agent.diagnosis.node.kernel import others
from ovn_network_agent.diagnosis.node.kernel import routing

# Most of the time goes by in waits for answers.
_THREADS = 8
# In the order in which a person repairs them.
CHECKS = (*configuration.CHECKS, *agents.CHECKS, *devices.CHECKS,
          *routing.CHECKS, *managers.CHECKS, *frr.CHECKS, *ovn.CHECKS,
          *gateways.CHECKS, *tenants.CHECKS, *announced.CHECKS, *power.CHECKS,
          *forwards.CHECKS, *sessions.CHECKS, *others.CHECKS, *routing.LIMITS,
          *evpn.CHECKS, *agents.OBJECTS)


class UnknownCheck(Exception):
    """There is no check of that name; the text has the names."""


def select(known: Iterable[checks.Check[typing.Any]], names: Collection[str]
           ) -> list[checks.Check[typing.Any]]:
    """The named checks, or all, in their order; UnknownCheck for no check."""
    unknown = sorted(set(names) - {check.name for check in known})
    if unknown:
        raise UnknownCheck(
            f'no check is called {", ".join(unknown)}; "--list" shows the '
            'checks')
    return [check for check in known if not names or check.name in names]


class Examination:
    """Makes each check at most once."""

    def __init__(self, known: Iterable[checks.Check[typing.Any]],
                 sources: sources.Sources) -> None:
        self._known = {check.name: check for check in known}
        self._locks = {name: threading.Lock() for name in self._known}
        self._sources = sources
        self._made: dict[str, tuple[diagnosis.Finding, ...]] = {}

    def run(self, wanted: Iterable[checks.Check[typing.Any]]
            ) -> list[diagnosis.Finding]:
        """Make some checks; the findings are in their order."""
        with concurrent.futures.ThreadPoolExecutor(_THREADS) as pool:
            found = list(pool.map(self._findings_of,
                                  (check.name for check in wanted)))
        return [one for some in found for one in some]

    def _findings_of(self, name: str) -> tuple[diagnosis.Finding, ...]:
        """The findings of a check, which is made once."""
        with self._locks[name]:
            if name not in self._made:
                check = self._known[name]
                self._made[name] = tuple(
                    diagnosis.Finding(check.name, check.layer, result.verdict,
                                      result.evidence, result.remedy)
                    for result in self._say(check))
        return self._made[name]

    def _say(self, check: checks.Check[typing.Any]) -> list[checks.Result]:
        causes = [name for name in check.after if self._failed(name)]
        if causes:
            return [checks.not_checked(
                f'depends on {" and ".join(causes)}, which failed',
                f'first repair {" and ".join(causes)}')]
        try:
            return list(check.judge(check.read(self._sources)))
        except (checks.NotChecked, readers.Unread) as error:
            return [checks.not_checked(str(error))]
        except Exception as error:
            # No error must cost the operator the other checks.
            return [checks.not_checked(
                wording.typed_error(error),
                'the check could not be made; the evidence says why')]

    def _failed(self, name: str) -> bool:
        return any(one.verdict is diagnosis.Verdict.BROKEN
                   for one in self._findings_of(name))
