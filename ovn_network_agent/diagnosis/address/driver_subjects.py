# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Judges of what drivers want for subjects of their sources.  Pure."""

import dataclasses
import typing

from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.control import resource_rows
from ovn_network_agent.diagnosis import finding
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import ovn
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.drivers import base
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import outcome

Verdict = finding.Verdict

_CHECK = 'resource'
_AGAIN = ('ask again; if it stays so, "ovn-network-agent-ctl status" has the '
          'reasons')
_VERDICTS = {ledger.State.IN_PLACE.value: Verdict.OK,
             ledger.State.DUE.value: Verdict.WARN,
             ledger.State.UNDER_WAY.value: Verdict.WARN,
             ledger.State.UNREACHABLE.value: Verdict.NOT_CHECKED}


@dataclasses.dataclass(frozen=True, slots=True)
class DriverSubject:
    """A subject of a source, and what a driver says about an address of it."""

    text: str  # the subject and the driver, for people
    wanted: tuple[resources.Resource, ...]  # about the address
    layers: tuple[finding.Finding, ...] = ()  # by the driver itself


def concerning(wanted: base.Wanted, address: str
               ) -> tuple[resources.Resource, ...]:
    """The resources and problems about an address."""
    return tuple(each for each in wanted if (
        address in each.addresses if isinstance(each, resources.Problem) else
        each.kind != resources.Keep.kind and
        (each.subject == networks.host_prefix(address) or
         resource_rows.has(each.key, address))))


def layers(driver: base.Driver, subject: typing.Any, address: str
           ) -> tuple[finding.Finding, ...]:
    """What a driver, maybe foreign, finds; its errors cost its own layers."""
    found = []
    try:
        for each in driver.explain(subject, address):
            found.append(finding.Finding(
                f'driver-{driver.name}', each.name, Verdict(each.verdict),
                each.evidence, each.remedy))
    except Exception as error:
        found.append(finding.Finding(
            f'driver-{driver.name}', f'driver {driver.name}',
            Verdict.NOT_CHECKED, f'{type(error).__name__}: {error}'))
    return tuple(found)


def judge(facts: facts.Facts) -> list[finding.Finding]:
    """The findings about an address that only sources of drivers have."""
    found = [ovn.agent(facts)]
    for each in facts.driver_subjects:
        found += [_problem(one) if isinstance(one, resources.Problem) else
                  _resource(one, facts.rows) for one in each.wanted]
        found += each.layers
    return found


def unmade(facts: facts.Facts) -> list[finding.Finding]:
    """The findings about the subjects that could not be made."""
    return [finding.Finding('subject', 'subjects of drivers',
                            Verdict.NOT_CHECKED, text)
            for text in facts.unmade]


def _problem(problem: resources.Problem) -> finding.Finding:
    return verdicts.problem('wanted', problem.naming(problem.addresses).text)


def _resource(resource: resources.Resource,
              known: dict[tuple[str, str], agent.Answer] | readers.Unread
              ) -> finding.Finding:
    """The finding whether the running agent has a resource in place."""
    def judged(verdict: finding.Verdict, text: str, remedy: str = ''
               ) -> finding.Finding:
        return finding.Finding(
            _CHECK, resource.kind.replace('_', ' '), verdict,
            f'{outcome.describe(resource)}: {text}', remedy)
    if isinstance(known, readers.Unread):
        return judged(Verdict.NOT_CHECKED, str(known))
    row = known.get((resource.kind, outcome.brief(resource.key)))
    if row is None or not row['wanted']:
        return judged(Verdict.BROKEN, 'the agent does not want it', _AGAIN)
    text = ': '.join(filter(None, (row['state'], row['reason'])))
    verdict = _VERDICTS.get(row['state'], Verdict.BROKEN)
    return judged(verdict, text, {
        Verdict.WARN: _AGAIN, Verdict.BROKEN: verdicts.RESTORE}.get(
            verdict, ''))
