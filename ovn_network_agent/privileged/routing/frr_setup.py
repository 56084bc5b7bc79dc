# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry point: facts of FRR's setup, without its passwords."""

import errno
import typing

from ovn_network_agent import privileged
from ovn_network_agent.frr import output
from ovn_network_agent.frr import setup
from ovn_network_agent.privileged.network import checks
from ovn_network_agent.privileged.routing import vtysh


@privileged.frr.entrypoint
def read_setup(vrf: str, prefix_list: str, version: int = 4
               ) -> list[typing.Any]:
    """Read the fields of :class:`frr.setup.Setup`, a list."""
    vtysh.check_vrf(vrf)
    if prefix_list:
        vtysh.check_prefix_list(prefix_list)
    checks.version(version)
    shown = vtysh.show('show vrf', 'show running-config')
    try:
        return list(setup.read(shown.stdout, vrf, prefix_list, version))
    except output.Unreadable as error:
        raise OSError(errno.EPROTO, str(error)) from error
