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

"""[gateway_drain]: leaving a gateway, and what others left behind."""

from oslo_config import cfg

from ovn_network_agent.conf import types

GROUP = 'gateway_drain'

OPTS = [
    cfg.Opt(
        'stale_chassis_grace_period', type=types.Seconds(max=604800),
        default=300, mutable=True,
        help='Seconds after which the default routes and MAC bindings that '
             'the agent of another chassis wrote are removed from OVN, once '
             'the Southbound database has no chassis of its host name any '
             'more. Up to 30 seconds come on top, another number in each '
             'agent, so that not all of them do it at once. Time without a '
             'complete view of OVN does not count, and a chassis that '
             'returns is forgotten. The driver fip_route does this, with or '
             'without gateway_drain. 0: never.'),
]
