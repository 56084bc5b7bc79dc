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

"""Privileged entry point: the configuration of FRR for BGP.

The running configuration has passwords, so the daemon passes on only a few
facts.
"""

import errno

from ovn_network_agent import privileged
from ovn_network_agent.frr import output
from ovn_network_agent.frr import setup
from ovn_network_agent.privileged import checks
from ovn_network_agent.privileged import vtysh


@privileged.frr.entrypoint
def read_setup(vrf, prefix_list, version=4):
    """Read the parts of FRR's configuration that the agent needs.

    :param vrf: name of a VRF, '' for the default VRF
    :param prefix_list: name of the prefix list, '' for none
    :param version: 4 or 6, the family of the announced routes
    :returns: the fields of :class:`frr.setup.Setup`, a list
    :raises OSError: when the configuration cannot be read in full
    """
    vtysh.check_vrf(vrf)
    if prefix_list:
        vtysh.check_prefix_list(prefix_list)
    checks.version(version)
    shown = vtysh.show('show vrf', 'show running-config')
    try:
        return list(setup.read(shown.stdout, vrf, prefix_list, version))
    except output.Unreadable as error:
        raise OSError(errno.EPROTO, str(error)) from error
