# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The lines of the prefix list that the Go program has left.

The Go program is the older program of the same name (see the glossary).  An
operator's lines may have the same shape and numbers.  But beside each line the
Go program leaves a policy rule without a protocol for the network, and a route
of the agent's protocol through the veth pair.  The agent's rules have a
protocol, so lines of a former run are not taken for those of the Go program.

These are no entry points.  The agent asks which lines to remove, and the
privileged side whether a line may be removed.
"""


from ovn_network_agent import ownership
from ovn_network_agent.frr import output
from ovn_network_agent.frr import prefix_list_lines

# Networks of proven lines; the rule that proves a line may go before the line.
_proven: set[str] = set()


def networks(copies: dict[str, list[output.Entry]], leak: tuple[int, int]
             ) -> set[str]:
    """Networks whose lines, in the copies by daemon, are of the Go program.

    :param leak: (priority, table) of the rules of the veth leak
    """
    found: set[str] = set()
    for entries in copies.values():
        found |= prefix_list_lines.counted(prefix_list_lines.shaped(entries))
    # A later line in the place of a removed line needs a proof of its own.
    _proven.intersection_update(found)
    if found - _proven:
        _proven.update(_led_back(found - _proven, leak))
    return set(_proven)


def forget() -> None:
    """Forget all proofs, for tests."""
    _proven.clear()


def _led_back(wanted: set[str], leak: tuple[int, int]) -> set[str]:
    """The wanted networks that have a rule and route of the Go program."""
    # FRR's daemon rarely needs these modules, and has to start fast.
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
