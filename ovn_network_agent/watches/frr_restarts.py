# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


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
