# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

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
