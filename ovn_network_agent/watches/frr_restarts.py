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


"""Notices that a daemon of FRR was started again."""

from ovn_network_agent import notices
from ovn_network_agent import socket_marks
from ovn_network_agent.privileged import frr_sockets
from ovn_network_agent.watches import restarts


def make(conf, beats, restarted, awaited=lambda: False):
    """The watch.

    :param conf: the oslo.config ConfigOpts
    :param beats: :class:`heartbeat.Heartbeat`
    :param restarted: function without arguments, called with each doubt
    :param awaited: see :class:`restarts.RestartWatch`
    :returns: :class:`restarts.RestartWatch`
    """
    def read():
        return socket_marks.of_directory(conf.frr.frr_run_dir,
                                         frr_sockets.SUFFIX)
    return restarts.RestartWatch(beats, 'FRR', '[frr] frr_run_dir', read,
                                 frr_sockets.read_sockets,
                                 notices.FRR_RESTARTED,
                                 restarted, metric='frr_restarts_total',
                                 # The fabric has lost what staticd had.
                                 at_once=True, awaited=awaited)
