# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The start of the daemons, and the loss of the agent's privileges."""

from collections.abc import Sequence
import importlib
import os
import socket

from oslo_config import cfg
from oslo_log import log as logging
from oslo_privsep import capabilities
from oslo_privsep import daemon
from oslo_privsep import priv_context

from ovn_network_agent import privileged
from ovn_network_agent.conf import log_levels as levels
from ovn_network_agent.privileged.daemon import capability
from ovn_network_agent.privileged.daemon import helper
from ovn_network_agent.privileged.daemon import log_levels
from ovn_network_agent.privileged.daemon import memory_trim
from ovn_network_agent.privileged.limits import limits

LOG = logging.getLogger(__name__)
_Contexts = Sequence[privileged.context.Context]


class NoPrivileges(Exception):
    """A daemon could not be started; the text names the remedy, too."""


def prepare() -> None:
    """Do what each daemon would: the library parses C declarations, 1.6 MB."""
    memory_trim.share()
    capabilities.get_caps()


def start(conf: cfg.ConfigOpts,
          contexts: _Contexts = privileged.CONTEXTS,
          dry_run: bool = False, drop: bool = True) -> None:
    """Start the daemons, in a process that has no threads yet.

    With the needed capabilities it forks them, and gives its own up for good;
    else ``root_helper`` (:mod:`privileged.daemon.helper`) or a group's
    ``helper_command`` starts each.

    :param conf: the global one, from which privsep reads [privsep_kernel]
    :param dry_run: refuse changes, and leave out daemons that only make them
    :param drop: False to keep the capabilities of this process (tests)
    """
    limits.fix(conf)
    if limits.current().forwards or limits.current().egress.loaded:
        # Daemons share what is imported by now; the classes of connections
        # take 8 ms, and only what translates needs them.
        importlib.import_module('ovn_network_agent.netlink.objects.conntrack')
    for context in privileged.CONTEXTS:
        context.read_only = dry_run
    if dry_run:
        contexts = [context for context in contexts if context.reads]
    missing = _missing(contexts)
    if os.geteuid() == 0 and missing:
        needs = '; '.join(
            f'[{context.cfg_section}] has to have {_names([context])}'
            for context in missing)
        raise NoPrivileges(
            f'no privileges: {needs}: check the capabilities of the container '
            'or of the service unit')
    if not missing:
        _fork(contexts, drop)
    else:
        _run_helpers(contexts)
    levels.temporary.follow = log_levels.follow
    LOG.info('privileged daemons running: %s',
             ', '.join(context.name for context in contexts) or 'none')


def _missing(contexts: _Contexts) -> _Contexts:
    """Contexts that lack capabilities here, whoever the user is: a unit may
    give them to any (AmbientCapabilities), and a container withhold root's.
    """
    held = capability.permitted()
    return [context for context in contexts
            if not all(held >> number & 1
                       for number in context.conf.capabilities)]


def _fork(contexts: _Contexts, drop: bool) -> None:
    """Fork all daemons, drop, then connect, because this starts threads."""
    if len(os.listdir('/proc/self/task')) > 1:
        LOG.warning('Forking the privileged daemons from a process that has '
                    'threads already')
    sockets: list[socket.socket] = []
    for context in contexts:
        sockets.append(context.fork(close=sockets))
    if drop:
        drop_privileges()
    for context, sock in zip(contexts, sockets):
        try:
            context.attach(sock)
        except (OSError, daemon.FailedToDropPrivileges) as error:
            raise NoPrivileges(
                f'no privileges: the daemon of [{context.cfg_section}] ended '
                f'at its start ({error}); it has to have '
                f'{_names([context])}: check the '
                f'capabilities of the container or of the service unit'
            ) from error


def _names(contexts: _Contexts) -> str:
    return ' '.join(sorted({
        capabilities.CAPS_BYVALUE.get(number, str(number))
        for context in contexts for number in context.conf.capabilities}))


def _run_helpers(contexts: _Contexts) -> None:
    for context in contexts:
        try:
            context.start(priv_context.Method.ROOTWRAP)
        except (OSError, daemon.FailedToDropPrivileges) as error:
            command = context.conf.helper_command or ' '.join(
                (*helper.root_helper(), helper.program()))
            raise NoPrivileges(
                f'no privileges: "{command}" for [{context.cfg_section}] '
                f'failed ({error}); run the agent as root or with the '
                f'capabilities {_names(contexts)}, allow this command and its '
                f'arguments for this user in sudoers (contrib/sudoers.d), or '
                f'set [agent] root_helper or [{context.cfg_section}] '
                'helper_command') from error


def drop_privileges() -> None:
    """Give up all capabilities of this process for good; the user stays."""
    capability.drop_all()
