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

"""Netlink, as much of it as the agent needs.

pyroute2 says what messages look like (:mod:`netlink.messages`), a small
socket of our own sends many of them at once (:mod:`netlink.connection`), and
routes have an encoding of our own, because there are thousands of them
(:mod:`netlink.route_codec`).  Dumps need no privileges and run in the agent;
writing is for the privileged side.
"""

from ovn_network_agent.netlink import on_demand

# Before any module of the package imports something of pyroute2.
on_demand.prepare()
