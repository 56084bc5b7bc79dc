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

"""[metrics]: the listener for Prometheus and for readiness over HTTP."""

from oslo_config import cfg

from ovn_network_agent.conf import types

GROUP = 'metrics'

OPTS = [
    cfg.Opt(
        'listen', type=types.ListenAddress(), default='',
        help='Address and port on which the agent answers "/metrics" '
             '(Prometheus), "/healthz" and "/readyz", like "127.0.0.1:9132" '
             'or "[::1]:9132". A port alone means 127.0.0.1. Empty (the '
             'default) means no listener. Everyone who can reach the address '
             'can read the metrics, without a password and without TLS: the '
             'reference of the metrics says what they tell. If the address '
             'cannot be used, the agent reports itself degraded, tries again '
             'every five seconds, and does its work.'),
]
