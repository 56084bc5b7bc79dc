# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Levels of the log in the privileged daemons, whose records go to the agent;
not of libraries, because privsep would log every call.
"""

import errno
import logging

from ovn_network_agent import privileged

_LEVELS = (logging.NOTSET, logging.DEBUG, logging.INFO, logging.WARNING,
           logging.ERROR)
_OURS = 'ovn_network_agent'

LOG = logging.getLogger(__name__)


def _set(daemon: str, name: str, level: int) -> None:
    ours = isinstance(name, str) and (
        name in ('', _OURS) or name.startswith(_OURS + '.'))
    if not ours or level not in _LEVELS or isinstance(level, bool):
        raise OSError(errno.EINVAL, f'level {level!r} of logger {name!r} is '
                      'refused: it is not one of the agent\'s')
    logging.getLogger(name).setLevel(level)
    LOG.debug('Level of the log in the daemon %s: %s', daemon,
              logging.getLevelName(level))


@privileged.kernel.entrypoint
def set_in_kernel(name: str, level: int) -> None:
    """Set the level of a logger of the agent in the daemon ``kernel``."""
    _set('kernel', name, level)


@privileged.ovs.entrypoint
def set_in_ovs(name: str, level: int) -> None:
    """As :func:`set_in_kernel`, in the daemon ``ovs``."""
    _set('ovs', name, level)


@privileged.frr.entrypoint
def set_in_frr(name: str, level: int) -> None:
    """As :func:`set_in_kernel`, in the daemon ``frr``."""
    _set('frr', name, level)


@privileged.netfilter.entrypoint
def set_in_netfilter(name: str, level: int) -> None:
    """As :func:`set_in_kernel`, in the daemon ``netfilter``."""
    _set('netfilter', name, level)


_SETTERS = ((privileged.kernel, set_in_kernel), (privileged.ovs, set_in_ovs),
            (privileged.frr, set_in_frr),
            (privileged.netfilter, set_in_netfilter))


def follow(name: str, level: int) -> None:
    """Set a logger's level in each daemon that runs, not of a library's."""
    if name and name.partition('.')[0] != _OURS:
        return
    for context, setter in _SETTERS:
        if context.alive:
            setter(name, level)
