# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Several routers with one address: what each has, and what follows.  Pure."""

import dataclasses
import typing

from ovn_network_agent.diagnosis import finding
from ovn_network_agent.diagnosis.address import verdicts

if typing.TYPE_CHECKING:
    from ovn_network_agent.diagnosis.address import subject as subjects

_CHECK = 'nat-row'
# OVN hands an ARP request to one router only; nodes of others wait in vain.
_EFFECTS = ('neighbour',)
_FLOATING = 'dnat_and_snat'


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """A router that has an address."""

    kind: str  # what the address is there
    names: str  # the names of the router, for people
    router: str  # name of its row of Logical_Router
    type: str = ''  # type of the NAT row, '' without one
    # Inner address or prefix of the NAT row, '' without one.
    logical_ip: str = ''
    port: str = ''  # logical_port of the NAT row, '' for none
    # Host name of the chassis with the gateway port, '' for none.
    owner: str = ''

    @property
    def portless(self) -> bool:
        """Whether the row is a floating IP, and names no port."""
        return self.type == _FLOATING and not self.port

    def text(self) -> str:
        """The claim for people."""
        parts = [f'{self.kind} of {self.names}']
        if self.logical_ip:
            parts.append(f'to {self.logical_ip}')
        if self.port:
            parts.append(f'port {self.port}')
        elif self.portless:
            parts.append('no port')
        parts.append(f'on {self.owner}' if self.owner else 'on no chassis')
        return ', '.join(parts)

    def removal(self, address: str) -> str:
        """The command that removes the NAT row."""
        # A row of SNAT is known by its inner prefix.
        key = address if self.type != 'snat' else self.logical_ip
        return f'ovn-nbctl lr-nat-del {self.router} {self.type} {key}'


def judge(subject: 'subjects.Subject') -> finding.Finding:
    """The finding about an address that several routers have."""
    portless = [each for each in subject.claims if each.portless]
    rows = [each for each in subject.claims if each.type]
    remedy = ('let one router have the address, in Neutron if Neutron knows '
              'several')
    if len(portless) == 1:
        remedy += ('; the row without a port is probably left over, and '
                   f'"{portless[0].removal(subject.address)}" removes the row')
    elif rows:
        commands = ' or '.join(f'"{each.removal(subject.address)}"'
                               for each in rows)
        remedy += f'; {commands} removes the row of that router'
    return verdicts.warn(
        _CHECK, f'{len(subject.claims)} routers have the address: '
        f'{"; ".join(each.text() for each in subject.claims)}', remedy)


def settled(subject: 'subjects.Subject', findings: list[finding.Finding]
            ) -> list[finding.Finding]:
    """Name several routers as the cause of what follows from them.

    The address may work through one of them, so they are a warning until an
    effect on this node is seen.  The findings are in the order of the path.
    """
    effects = [each for each in findings if each.check in _EFFECTS and
               each.verdict is verdicts.Verdict.BROKEN]
    if len(subject.claims) < 2 or not effects:
        return findings
    return [_follows(each) if each in effects else _cause(each)
            for each in findings]


def _follows(finding: finding.Finding) -> finding.Finding:
    return dataclasses.replace(
        finding, verdict=verdicts.Verdict.NOT_CHECKED, remedy='',
        evidence=f'{finding.evidence} (follows from: '
        f'{verdicts.LAYERS[_CHECK]})')


def _cause(finding: finding.Finding) -> finding.Finding:
    if finding.check != _CHECK:
        return finding
    return dataclasses.replace(finding, verdict=verdicts.Verdict.BROKEN)
