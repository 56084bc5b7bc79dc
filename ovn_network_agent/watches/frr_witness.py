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

"""What is announced, as the best witness there is says.

bgpd, as long as FRR's BGP is what announces ([frr] bgp_check).  Otherwise
zebra, which hands routes to whatever protocol does.  Where FRR is not the
one that announces, and its tools are not there, nobody can be asked: then the
route in the kernel, which another program takes it from, is all there is.
"""

import shutil

from ovn_network_agent.privileged import bgp
from ovn_network_agent.watches import frr_verification


def tools(conf):
    """Whether FRR can be asked at all: there is a vtysh, or a wrapper."""
    return bool(shutil.which(
        (conf.frr.vtysh_wrapper.split() or ['vtysh'])[0]))


def announced(conf, prefixes):
    """Which of these addresses are seen to be announced.

    Runs processes; for a thread beside the loop.

    :param conf: the oslo.config ConfigOpts
    :param prefixes: iterable of '198.51.100.10/32'; their routes are there
    :returns: set of them
    :raises OSError: or another of :data:`context.FAILURES`, when FRR cannot
        be asked
    """
    vrf = conf.frr.vrf_name
    if conf.frr.bgp_check:
        return frr_verification.advertised(vrf, prefixes)
    method = conf.fip_route.announce_method
    if method == 'kernel' and not tools(conf):
        return set(prefixes)
    active, _known = bgp.read_effect(vrf, sorted(prefixes), False)
    return {prefix for prefix in prefixes
            if method in active.get(prefix, ())}


def witness(conf):
    """Who says so, for messages."""
    return 'BGP does not advertise' if conf.frr.bgp_check else (
        'zebra has not selected and installed')
