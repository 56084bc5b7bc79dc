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

"""The parts of netlink that the agent needs.

pyroute2 encodes and decodes messages (:mod:`netlink.messages`).
:mod:`netlink.connection` sends many messages at once.  Routes have a codec of
their own, because there are thousands (:mod:`netlink.route_codec`).  Dumps
need no privileges and run in the agent; changes run on the privileged side.
"""

from ovn_network_agent.netlink import on_demand

# This comes before the first import of a module of pyroute2.
on_demand.prepare()
