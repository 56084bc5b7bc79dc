# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The needs of port forwarding on this node, checked before a start."""

from collections.abc import Iterator
import shutil
from typing import Any

from ovn_network_agent.files import flaws
from ovn_network_agent.forward import rules
from ovn_network_agent.netlink import links


def missing(conf: Any) -> list[str]:
    """Messages about missing needs; none where no ports are forwarded.

    Acceptance rows PRE-07 and PRE-08.
    """
    try:
        if not rules.load(conf):
            return []
    except flaws.BadFile:
        # The check of the configuration reports the file.
        return []
    return [*_program(conf), *_device(conf)]


def _program(conf: Any) -> Iterator[str]:
    if shutil.which('nft') is None:
        yield (f'[port_forward] rules_file = '
               f'{conf.port_forward.rules_file}: the program nft is '
               f'not in PATH; install the package nftables')


def _device(conf: Any) -> Iterator[str]:
    device = conf.port_forward.port_forward_dev
    try:
        found = links.read_all()
    except OSError:
        # The backend link reports the error.
        return
    if device not in found:
        vrf = conf.frr.vrf_name
        enslave = f'ip link set {device} master {vrf}; ' if vrf else ''
        yield (f'[port_forward] port_forward_dev = {device}: there is no '
               f'such device; create it (ip link add {device} type '
               f'dummy; {enslave}ip link set {device} up) or name the '
               f'right one')
