# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From the facts about an address to the findings and the answer.  Pure."""

from collections.abc import Callable
import enum
import typing

from ovn_network_agent import diagnosis
from ovn_network_agent.diagnosis.address import bgp
from ovn_network_agent.diagnosis.address import driver_subjects
from ovn_network_agent.diagnosis.address import evpn
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import forwarding
from ovn_network_agent.diagnosis.address import kernel
from ovn_network_agent.diagnosis.address import ovn
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.address import vip


class Outcome(enum.Enum):
    """The answer in one word."""

    OK = 'ok'
    BROKEN = 'broken'
    #: another node has the address
    ELSEWHERE = 'elsewhere'
    #: nobody has the address
    NOBODY = 'nobody'
    #: the address is here, and not announced on purpose
    WITHHELD = 'withheld'
    #: too little could be read for an answer
    UNKNOWN = 'unknown'


def _plain(text: str, _verdict: str) -> str:
    return text


class Explanation(typing.NamedTuple):
    """Why an address is reachable or not, as far as this node can tell."""

    address: str
    kind: str  # what the address is
    outcome: Outcome
    findings: tuple[diagnosis.Finding, ...]  # in the order of the path
    # Host name of the node that has the address, '' if unknown.
    owner: str = ''
    vni: int = 0  # the VNI that the address is in, 0 for none

    @property
    def remedy(self) -> tuple[str, str] | None:
        """(layer, remedy) of the first broken finding, or None."""
        first = verdicts.first_broken(self.findings)
        return (first.layer, first.remedy) if first else None

    def json(self) -> dict[str, typing.Any]:
        """The explanation as a dict of JSON values."""
        return {'address': self.address, 'vni': self.vni, 'kind': self.kind,
                'outcome': self.outcome.value,
                'findings': [each.json() for each in self.findings]}

    def text(self, coloured: Callable[[str, str], str] = _plain) -> str:
        """The explanation for people, several lines.

        :param coloured: gives a text the colour of a verdict
        """
        place = f' in VNI {self.vni:d}' if self.vni else ''
        lines = [f'{self.address}{place}: {self.kind}']
        lines += [
            f'{coloured(f"{each.verdict.value:<12}", each.verdict.value)} '
            f'{each.layer:<26} {each.evidence}' for each in self.findings]
        warned = [each for each in self.findings
                  if each.verdict is verdicts.Verdict.WARN]
        lines += [f'Warning, {each.layer}: {each.remedy}' for each in warned]
        if self.remedy:
            lines.append(f'Broken: {self.remedy[0]}')
            lines.append(f'Remedy: {self.remedy[1]}')
        else:
            lines.append(self._summary(warned))
        return '\n'.join(lines) + '\n'

    def _summary(self, warned: list[diagnosis.Finding]) -> str:
        """The closing sentence where nothing is broken."""
        if self.outcome is Outcome.OK and warned:
            return _WARNED
        return _SUMMARIES[self.outcome].format(
            owner=self.owner or 'Another node')


# A warning may be the reason why packets get lost.
_WARNED = 'No layer is broken; see the warnings.'
_SUMMARIES = {
    Outcome.OK: 'Nothing that explain looks at is broken on this node.',
    Outcome.ELSEWHERE: '{owner} has the address: ask there.',
    Outcome.NOBODY: 'Nobody has the address.',
    Outcome.WITHHELD: 'The address is not announced on purpose, and nothing '
                      'else is broken.',
    Outcome.UNKNOWN: 'Too little could be read for an answer.'}


def explain(facts: facts.Facts) -> Explanation:
    """Judge the facts about an address."""
    subject = facts.subject
    if subject.vip is not None:
        findings = vip.judge(facts)
    elif facts.driver_subjects:
        findings = driver_subjects.judge(facts)
    elif _known_to_drivers_alone(facts):
        findings = [ovn.agent(facts)]
    else:
        findings = ovn.judge(facts)
        if subject.here:
            findings += _here(facts)
        findings += driver_subjects.unmade(facts)
    findings += [*driver_subjects.judge_peerings(facts),
                 *driver_subjects.judge_egress(facts)]
    findings = verdicts.claims_settled(subject, verdicts.settled(findings))
    kind = ', '.join(each.text for each in facts.driver_subjects)
    if _known_to_drivers_alone(facts):
        kind = kind or (
            'address behind a router that peers'
            if driver_subjects.peered(facts) else
            'egress address, or a machine that leaves with one')
    return Explanation(subject.called, kind or subject.kind.value,
                       _outcome(facts, findings), tuple(findings),
                       subject.owner, subject.vni)


def _known_to_drivers_alone(facts: facts.Facts) -> bool:
    """Whether only a driver of rows inside OVN knows the address."""
    return facts.subject.kind is subjects.Kind.NOBODY and (
        driver_subjects.peered(facts) or driver_subjects.leaves(facts))


def _here(facts: facts.Facts) -> list[diagnosis.Finding]:
    of, segment = (facts.subject.port or facts.subject.network,
                   facts.subject.segment)
    if of is not None and of.vni:
        return evpn.judge(facts) if facts.vni else []
    if segment is None or not segment.device or (
            facts.subject.router is not None and
            facts.subject.router.routed_by_ovn):
        return []
    if facts.subject.withheld or (
            facts.subject.tenant and not facts.subject.tenant.announced):
        # Packets of other routers on this node are all that comes.
        return forwarding.flows(facts)
    found = [] if facts.databases else forwarding.flows(facts)
    found += [*kernel.judge(facts), kernel.judge_filters(facts)]
    if not facts.announces:
        return found
    return found + bgp.judge(facts) + forwarding.way_back(facts)


def _of_driver_subjects(findings: list[diagnosis.Finding]) -> Outcome:
    """The outcome by what a driver wants; the agent alone is no answer."""
    if verdicts.first_broken(findings):
        return Outcome.BROKEN
    return Outcome.OK if any(
        each.verdict is verdicts.Verdict.OK for each in findings
        if each.check != 'agent') else Outcome.UNKNOWN


def _outcome(facts: facts.Facts, findings: list[diagnosis.Finding]) -> Outcome:
    if facts.databases is not None and not verdicts.first_broken(findings):
        return Outcome.UNKNOWN
    if facts.driver_subjects:
        return _of_driver_subjects(findings)
    if _known_to_drivers_alone(facts):
        return (Outcome.BROKEN if verdicts.first_broken(findings)
                else Outcome.OK)
    if facts.subject.kind is subjects.Kind.NOBODY:
        return Outcome.UNKNOWN if facts.unmade else Outcome.NOBODY
    if verdicts.first_broken(findings):
        return Outcome.BROKEN
    port = facts.subject.binding
    if port is not None and port.left_out:
        return Outcome.WITHHELD
    if facts.subject.tenant and facts.subject.withheld:
        return Outcome.WITHHELD
    if not facts.subject.here:
        return Outcome.ELSEWHERE
    if facts.subject.withheld:
        return Outcome.WITHHELD
    return Outcome.OK
