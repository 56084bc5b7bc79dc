# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Reports of the agent's state to the supervisor: sd_notify(3).

oslo.service sends only READY.
"""

import os
import socket

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

_LIMIT = 1.0  # seconds for a supervisor that does not read


def notify(**values: object) -> None:
    """Send state such as READY=1 or STATUS='text' to NOTIFY_SOCKET, if set."""
    address = os.environ.get('NOTIFY_SOCKET')
    if not address:
        return
    if address.startswith('@'):
        address = '\0' + address[1:]
    message = '\n'.join(f'{name}={_one_line(value)}'
                        for name, value in values.items())
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.settimeout(_LIMIT)
            sock.connect(address)
            sock.sendall(message.encode())
    except OSError as e:
        LOG.warning('Could not notify the supervisor at %s: %s', address, e)


def _one_line(value: object) -> str:
    """The supervisor reads each line as a setting, and OVN has any names."""
    return ''.join(character if character.isprintable() else '?'
                   for character in str(value))
