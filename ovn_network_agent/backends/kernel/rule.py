# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend rule: policy rules, with the agent's number in FRA_PROTOCOL.

Rules of the Go program (see the glossary) carry no number: the backend takes
them over by priority, table and selectors, and by the route that belongs to
them.
"""

import errno
from typing import Any

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import calls
from ovn_network_agent.common import notices
from ovn_network_agent.conf.options import veth_leak
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink.objects import routes
from ovn_network_agent.netlink.objects import rules
from ovn_network_agent.privileged.network import netlink


class RuleBackend(base.KernelBackend):
    """Policy rules that carry the protocol number of the agent."""

    name = 'rule'
    kinds = (resources.Rule, resources.VniRule, resources.EgressDrop)
    doubted_by = (notices.kernel('link'), notices.kernel('rule'))

    def __init__(self, conf: Any) -> None:
        super().__init__(conf)
        # Of the Go program, found before the first change. Afterwards the
        # agent's own routes would seem to prove rules of an operator.
        self._go_rules: set[resources.Rule] | None = None

    def read(self, known: base.Known) -> list[resources.Rule]:
        """Read the agent's rules, and the wanted ones of other programs.

        The first call also looks for rules of the Go program.

        :raises base.BackendError: when the kernel does not answer
        """
        found = calls.reading('rules', rules.read_all)
        if self._go_rules is None:
            self._go_rules = self._find_go_rules(found)
        ours: dict[object, resources.Rule] = {}
        others: dict[object, resources.Rule] = {}
        for rule in found:
            resource = _resource(rule)
            # Of two rules with one key, the first decides about packets.
            if (rule.protocol == ownership.RULE_PROTOCOL
                    or not rule.protocol and resource in self._go_rules):
                ours.setdefault(resource.key, resource)
            elif rule.protocol and resource.ref in known:
                # One with the number of another program counts as present; the
                # privileged side never deletes it. One without a number gets
                # the agent's rule beside it.
                others.setdefault(resource.key, resource)
        return list((others | ours).values())

    def _find_go_rules(self, found: list[rules.Rule]) -> set[resources.Rule]:
        """The rules of the Go program among the rules without a number.

        An operator may have made such rules. But the Go program also leaves a
        route of the agent's protocol for the prefix. A rule beside an equal
        one of the agent is the operator's.
        """
        candidates = [rule for rule in found
                      if not rule.protocol and self._shape(rule)]
        if not candidates:
            return set()
        routed = calls.reading('routes', routes.read_ours,
                               ownership.ROUTE_PROTOCOL)
        proofs = {True, *((r.table, r.dst) for r in routed),
                  *((r.dev, r.dst) for r in routed)}
        marked = {rule.selector for rule in found
                  if rule.protocol == ownership.RULE_PROTOCOL}
        return {resources.Rule(*rule.selector) for rule in candidates
                if self._shape(rule) in proofs and rule.selector not in marked}

    def _shape(self, rule: rules.Rule) -> bool | tuple[int | str, str | None]:
        """The proof that a rule is of the Go program.

        :returns: False for a shape that it never makes; True for one that is
            proof enough (by a device or packet mark of the agent); else (table
            or device, destination) of a route of the agent's protocol
        """
        if rule.suppress is not None or not rule.table or rule.ipv6:
            return False
        if (rule.src, rule.iif, rule.fwmark) == (None, None, None):
            table = self.conf.fip_route.route_table_id
            return (rule.priority, rule.table) == (
                self.conf.fip_route.route_rule_priority, table) and (
                    table, rule.dst)
        # All others belong to a veth leak.  With the driver off, the leak is
        # the operator's.
        return veth_leak.enabled(self.conf) and self._leak_shape(rule)

    def _leak_shape(self, rule: rules.Rule
                    ) -> bool | tuple[int | str, str | None]:
        leak = self.conf.veth_leak.veth_leak_rule_priority
        match (rule.src, rule.dst, rule.iif, rule.fwmark):
            case (str(src), None, None, None):
                return (rule.priority, rule.table) == (
                    leak, self.conf.veth_leak.veth_leak_table_id) and (
                        ownership.VETH_PROVIDER, src)
            case (None, None, ownership.VETH_DEFAULT, None):
                return (rule.priority, rule.table) == (
                    leak - 1, resources.MAIN_TABLE)
            case (None, None, None, (mark, mask)):
                return mark == mask and (
                    rule.priority, rule.table, mark) in self._mark_rules()
        return False

    def _mark_rules(self) -> tuple[tuple[int, int, int], ...]:
        """The rules of port forwarding: (priority, table, packet mark)."""
        return ((ownership.PRIORITY_FORWARD, resources.MAIN_TABLE,
                 ownership.MARK_FORWARD),
                (ownership.PRIORITY_REPLY,
                 self.conf.port_forward.port_forward_table_id,
                 ownership.MARK_REPLY))

    def apply(self, delta: base.Delta) -> base.Failures:
        """Set rules, then delete the old ones, see :meth:`base.Backend.apply`.

        A rule that the privileged side does not recognise as the agent's
        (EBUSY) is :class:`base.Kept`.
        """
        wanted = resources.of_kind(resources.Rule, delta.wanted)
        # A rule that drops comes behind the rule that finds the way, so the
        # last rule goes first: no packet with a way is dropped in between.
        removed = sorted(resources.of_kind(resources.Rule, (
            *(old for old, _new in delta.update), *delta.delete)),
            key=lambda old: old.priority, reverse=True)
        go_rules = self._go_rules or set[resources.Rule]()
        failures = {
            **calls.refused(netlink.set_rules, wanted,
                            [_item(r) for r in wanted]),
            **calls.refused(netlink.delete_rules, removed,
                            [[r in go_rules, _item(r)] for r in removed],
                            kept=(errno.EBUSY,))}
        go_rules.difference_update(
            r for r in removed if isinstance(
                failures.get(r.ref, base.Kept()), base.Kept))
        return failures


def _resource(rule: rules.Rule) -> resources.Rule:
    """The resource of a rule that was read."""
    of_vni = rule.priority == ownership.EVPN_RULE_PRIORITY and (
        rule.iif and evpn_names.is_device(rule.iif))
    kind = (resources.VniRule if of_vni else
            resources.EgressDrop if rule.priority == ownership.EGRESS_DROP
            else resources.Rule)
    return kind(*rule.selector)


def _item(rule: resources.Rule) -> list[Any]:
    return [rule.priority, rule.table, rule.src, rule.dst, rule.iif,
            None if rule.fwmark is None else list(rule.fwmark),
            rule.suppress, rule.ipv6]
