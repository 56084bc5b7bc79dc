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
"""The peer ovn-bgp-agent 7.0.0, with the one repair without which it is mute.

Runs in the peer's own environment: python -P repaired.py OPTIONS.  As it is
released, ``routing_tables or {}`` in its module ``wire`` drops the empty dict
of the first synchronisation, which therefore ends with a KeyError, and nothing
is exposed with the driver of the northbound database.  The function is
replaced in memory by one that passes the dict on; no file is changed.
"""

import sys

from ovn_bgp_agent.cmd import agent
from ovn_bgp_agent.drivers.openstack.utils import wire


def _wiring(idl, ovs_idl, ovn_idl=None, routing_tables=None):
    """The wiring of the method "underlay", with the caller's own dict."""
    return wire._ensure_base_wiring_config_underlay(
        idl, ovs_idl, {} if routing_tables is None else routing_tables)


if __name__ == '__main__':
    wire.ensure_base_wiring_config = _wiring
    sys.exit(agent.start())
