# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routes, decoded by pyroute2: what the fast codec has to agree with."""

import socket

from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink import texts
from ovn_network_agent.netlink.objects import routes


def decode(data, start, end, names=None):
    """A single route, like :func:`route_codec.decode`."""
    message = messages.decode(routes.MESSAGE, data, start, end)
    family = message['family']
    if message['flags'] & route_codec.RTM_F_CLONED or family not in (
            socket.AF_INET, socket.AF_INET6):
        return None
    found = messages.attributes(message)
    dst = found.get('RTA_DST')
    return route_codec.Route(
        found.get('RTA_TABLE', message['table']),
        f'{texts.canonical(dst)}/{message["dst_len"]}' if dst
        else ('0.0.0.0/0' if family == socket.AF_INET else '::/0'),
        '' if 'RTA_OIF' not in found or 'RTA_MULTIPATH' in found
        else route_codec.device(found['RTA_OIF'],
                                {} if names is None else names),
        _gateway(found),
        message['proto'], found.get('RTA_PRIORITY', 0))


def _gateway(found):
    """The gateway of a decoded route."""
    if 'RTA_GATEWAY' in found:
        return texts.canonical(found['RTA_GATEWAY'])
    return (route_codec.via_text(found['RTA_VIA'])
            if 'RTA_VIA' in found else None)
