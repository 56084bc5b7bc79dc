# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Backend rule: policy rules.

Ours carry our number in FRA_PROTOCOL.  The original program's carry none;
they are recognised by priority, table and selectors and so taken over.
"""

from ovn_network_agent.backends import base
from ovn_network_agent.backends import kernel
from ovn_network_agent.netlink import routes
from ovn_network_agent.netlink import rules
from ovn_network_agent import ownership
from ovn_network_agent.privileged import netlink
from ovn_network_agent import resources

# Rules of port forwarding: (priority, table, mark).
_MARK_RULES = ((150, routes.MAIN_TABLE, 0x100), (151, 201, 0x200))


class RuleBackend(base.Backend):
    """See the module."""

    name = 'rule'
    kinds = (resources.Rule,)

    def read(self, known):
        ours = {}
        others = {}
        for rule in kernel.reading('rules', rules.read_all):
            resource = resources.Rule(*rule.what)
            # Of two that differ in the table the first one decides where
            # packets go, so it is the one to look at.
            if (rule.protocol == ownership.RULE_PROTOCOL
                    or rule.protocol == 0 and self._original(rule)):
                ours.setdefault(resource.key, resource)
            elif resource.ref in known:
                # A wanted rule that somebody else made counts as present;
                # the root side never deletes it.
                others.setdefault(resource.key, resource)
        return list((others | ours).values())

    def _original(self, rule):
        """Whether the original program makes rules of this shape."""
        if rule.suppress is not None or not rule.table:
            return False
        leak = self.conf.veth_leak.veth_leak_rule_priority
        selectors = (rule.src, rule.dst, rule.iif, rule.fwmark)
        match selectors:
            case (None, str(dst), None, None):
                table = self.conf.fip_route.route_table_id
                return (table != 0 and dst.endswith('/32') and
                        (rule.priority, rule.table) == (
                            self.conf.fip_route.route_rule_priority, table))
            case (str(), None, None, None):
                return (rule.priority, rule.table) == (
                    leak, self.conf.veth_leak.veth_leak_table_id)
            case (None, None, ownership.VETH_DEFAULT, None):
                return (rule.priority, rule.table) == (
                    leak - 1, routes.MAIN_TABLE)
            case (None, None, None, (mark, mask)):
                return mark == mask and (
                    rule.priority, rule.table, mark) in _MARK_RULES
        return False

    def apply(self, delta):
        wanted = kernel.wanted(delta)
        gone = [*(old for old, _new in delta.update), *delta.delete]
        return {
            **kernel.refused(netlink.set_rules, wanted,
                             [_item(r) for r in wanted]),
            **kernel.refused(netlink.delete_rules, gone,
                             [_item(r) for r in gone])}


def _item(rule):
    return [rule.priority, rule.table, rule.src, rule.dst, rule.iif,
            None if rule.fwmark is None else list(rule.fwmark),
            rule.suppress]
