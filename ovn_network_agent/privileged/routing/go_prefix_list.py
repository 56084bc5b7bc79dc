# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The lines of the prefix list that the Go program has left; no entry points.

It is the older program of the same name (see the glossary).  An operator's
lines may look alike, but beside each of its lines are a policy rule for the
network without a protocol, which the agent's have, and a route of the agent's
protocol through the veth pair.
"""


from ovn_network_agent import ownership
from ovn_network_agent.frr import output
from ovn_network_agent.frr import prefix_list_lines

# Proven networks; the rule that proves a line may go before it.
_proven: set[str] = set()


def networks(copies: dict[str, list[output.Entry]], leak: tuple[int, int]
             ) -> set[str]:
    """Networks whose lines, in the copies by daemon, are of the Go program;
    ``leak`` is (priority, table) of the rules of the veth leak.
    """
    found: set[str] = set()
    for entries in copies.values():
        found |= prefix_list_lines.counted(prefix_list_lines.shaped(entries))
    # a later line in the place of a removed one needs its own proof
    _proven.intersection_update(found)
    if found - _proven:
        _proven.update(_led_back(found - _proven, leak))
    return set(_proven)


def forget() -> None:
    """Forget all proofs, for tests."""
    _proven.clear()


def _led_back(wanted: set[str], leak: tuple[int, int]) -> set[str]:
    # FRR's daemon rarely needs these, and has to start fast.
    from ovn_network_agent.netlink.objects import routes
    from ovn_network_agent.netlink.objects import rules
    there = [(rule.src, rule.protocol) for rule in rules.read_all()
             if rule.src and rule.src in wanted and
             (rule.priority, rule.table) == leak and
             (rule.dst, rule.iif, rule.fwmark, rule.suppress) ==
             (None, None, None, None)]
    found = {src for src, protocol in there if not protocol} - {
        src for src, protocol in there
        if protocol == ownership.RULE_PROTOCOL}
    # The routes are read only if need be, because there may be many.
    return found and found & {
        route.dst for route in routes.read_ours(ownership.ROUTE_PROTOCOL)
        if route.dev == ownership.VETH_PROVIDER}
