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

"""[fip_route]: the driver that makes floating IPs reachable."""

from oslo_config import cfg

from ovn_network_agent.conf import types

GROUP = 'fip_route'

OPTS = [
    cfg.StrOpt(
        'announce_method', default='static', mutable=True,
        choices=[
            ('static', 'FRR static routes; needs "redistribute static" in '
                       'the BGP instance'),
            ('kernel', 'kernel routes in the table of the VRF; needs '
                       '"redistribute kernel" in the BGP instance')],
        help='How an address gets into BGP. "static" writes static routes '
             'through vtysh, which suits up to some hundred addresses: '
             'the time that FRR takes for each change grows with the number '
             'of routes present. "kernel" stays fast with many thousands, '
             'and its routes survive a restart of FRR. To change it on a '
             'node that is in use, first have both "redistribute static" '
             'and "redistribute kernel" in the BGP instance: each address '
             'is announced in the new way before the old way ends.'),
    cfg.Opt(
        'route_table_id', type=types.Integer(0, 252), default=0,
        help='Routing table for the host routes to bridge_dev. 0 (the '
             'default) is the main table. 1 to 252 is a table of their own, '
             'with one policy rule for each address at '
             'route_rule_priority.'),
    cfg.Opt(
        'route_rule_priority', type=types.Integer(1, 32765), default=1000,
        help='Priority of the policy rules that a route_table_id other than '
             '0 needs. The default is also the priority of the kernel\'s '
             'rule for VRFs ("l3mdev"); between equals the older rule '
             'counts first, so traffic that arrives in the VRF still takes '
             'the veth pair as long as the VRF was created before the agent '
             'started. Use 1001 or more to be independent of that order. '
             'It must be below veth_leak_rule_priority - 1.'),
    cfg.BoolOpt(
        'standby_prepare', default=True,
        help='Whether a chassis that is only a standby of a gateway prepares '
             'the way out of OVN: the flows of the patch port, the policy '
             'rules of the provider network, and its entry in the prefix '
             'list of FRR, without which every takeover would wait for '
             'vtysh. They attract nothing by themselves; a host route in '
             'that network that somebody else has FRR redistribute is '
             'announced by a standby, too. What machines send is so not '
             'lost between the move of the gateway and the answer of the '
             'agent.'),
]
