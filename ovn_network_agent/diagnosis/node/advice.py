# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Advice of doctor: nothing is wrong, and something else suits better."""

from collections.abc import Iterator
import dataclasses

from ovn_network_agent.backends.frr import frr_static
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.privileged.routing import vtysh


@dataclasses.dataclass(frozen=True, slots=True)
class Announced:
    """The static routes of FRR."""

    method: str  # the announce method of the configuration
    count: int  # number of static host routes in the VRF


def read_announced(sources: sources.Sources) -> Announced:
    """Count the static routes."""
    sources.ovn()
    sources.privileged()
    method = sources.conf.fip_route.announce_method
    return Announced(method, len(vtysh.read_static(sources.vrf))
                     if method == 'static' else 0)


def judge_announced(found: Announced) -> Iterator[check.Result]:
    """Many static routes are worth another method."""
    if found.count > frr_static.MANY:
        yield check.warn(
            f'FRR has {found.count:d} static routes here, and its time for '
            'each change grows with their number',
            'with announce_method = kernel a change stays fast: '
            '"ovn-network-agent-ctl announce-method kernel" says what FRR '
            'needs, and changes the method without a loss')
    else:
        yield check.ok(f'{found.method} suits so few static routes: '
                       f'{found.count:d}' if found.method == 'static'
                       else 'kernel suits any number of addresses')


CHECKS = (
    check.Check(
        'announce-method', 'FRR', 'FRR has few static routes, or the '
        'addresses are announced by kernel routes', read_announced,
        judge_announced, ('frr-daemons',)),
)
