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


"""The watch for restarts of ovs-vswitchd.

A restarted ovs-vswitchd has lost all flows.  The local database does not show
a restart: the numbers of the ports are mostly the same.
"""

import os

from ovn_network_agent import notices
from ovn_network_agent import socket_marks
from ovn_network_agent.privileged import openflow
from ovn_network_agent.watches import restarts


def make(conf, beats):
    """The watch of the provider bridge.

    :param conf: the oslo.config ConfigOpts
    :param beats: :class:`heartbeat.Heartbeat`
    :returns: :class:`restarts.RestartWatch`
    """
    bridge = conf.bridge_dev

    def read():
        mark = socket_marks.of_socket(os.path.join(
            conf.ovs.ovs_rundir, bridge + openflow.SUFFIX))
        return {bridge: mark} if mark else {}
    return restarts.RestartWatch(
        beats, 'Open vSwitch', '[ovs] ovs_rundir', read,
        lambda: openflow.read_socket(bridge),
        notices.SWITCH_RESTARTED, metric='ovs_restarts_total')
