# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged notices of changed VNIs, by
:mod:`privileged.routing.list_monitor`; bgpd's configuration with 200 VNIs
takes FRR 8.4 1 ms.
"""

from ovn_network_agent import privileged
from ovn_network_agent.privileged.daemon import sending_sockets
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.routing import frr_queries
from ovn_network_agent.privileged.routing import list_monitor

# bgpd shows so many lines in the time of one line of a prefix list
_LINES = 10
# seconds to wait for an answer of which only a digest matters
_TIMEOUT = 1.0


@privileged.frr.entrypoint
def subscribe(name: str) -> int:
    """Hand out a socket that gets a notice when VNIs have changed."""
    sending_sockets.check(name)
    limits.current().check_frr_vnis()
    return list_monitor.report(name, list_monitor.Looks('', read_digests))


def read_digests(_name: str, whole: bool) -> list_monitor.Digests:
    """Digests of the VNIs in zebra and, if whole, of bgpd."""
    questions = {'zebra': ['show vrf vni']}
    if whole:
        questions['bgpd'] = ['enable', 'show running-config']
    answers = frr_queries.ask(questions, _TIMEOUT)
    found = {}
    # a session that is open has no use for "enable", and says so
    for daemon, texts in answers.items():
        digest, lines = list_monitor.digest(texts[-1])
        found[daemon] = digest, lines // _LINES
    return found
