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

"""Start of the privileged daemons and the end of our own privileges."""

import os

from oslo_log import log as logging
from oslo_privsep import capabilities
from oslo_privsep import daemon
from oslo_privsep import priv_context

from ovn_network_agent import privileged
from ovn_network_agent.privileged import capability

LOG = logging.getLogger(__name__)

# sudo must fail instead of asking for a password that nobody types in.
ROOT_HELPER = ('sudo', '-n')


class NoPrivileges(Exception):
    """A daemon could not be started.

    :param reason: text for the operator: what failed and the remedy
    """


def start(conf, contexts=privileged.CONTEXTS, dry_run=False, drop=True):
    """Start the daemons, in a process that has no threads yet.

    As root they are forked and the agent then gives up its own capabilities
    for good.  As another user each is started with ``sudo -n
    privsep-helper`` or the ``helper_command`` of its group.

    :param conf: the global oslo.config ConfigOpts; privsep reads its own
        groups [privsep_kernel], [privsep_ovs], [privsep_frr] from it
    :param contexts: the :class:`context.Context` objects that are needed
    :param dry_run: refuse every change, and leave out daemons that could
        only make changes
    :param drop: False to keep the capabilities of this process (tests)
    :raises NoPrivileges: when a daemon does not come up
    """
    for context in privileged.CONTEXTS:
        context.read_only = dry_run
    if dry_run:
        contexts = [context for context in contexts if context.reads]
    if os.geteuid() == 0:
        _fork(contexts, drop)
    else:
        _run_helpers(contexts)
    LOG.info('privileged daemons running: %s',
             ', '.join(context.name for context in contexts) or 'none')


def _fork(contexts, drop):
    """Fork all, drop, then connect: connecting starts threads."""
    if len(os.listdir('/proc/self/task')) > 1:
        LOG.warning('Forking the privileged daemons from a process that has '
                    'threads already')
    sockets = []
    for context in contexts:
        context.fork(close=sockets)
        sockets.append(context.socket)
    if drop:
        drop_privileges()
    for context in contexts:
        try:
            context.attach()
        except (OSError, daemon.FailedToDropPrivileges) as error:
            names = ' '.join(
                capabilities.CAPS_BYVALUE.get(number, str(number))
                for number in context.conf.capabilities)
            raise NoPrivileges(
                f'no privileges: the daemon of [{context.cfg_section}] ended '
                f'at its start ({error}); it has to have {names}: check the '
                f'capabilities of the container or of the service unit'
            ) from error


def _run_helpers(contexts):
    """Start the daemons with sudo or their helper_command."""
    priv_context.init(root_helper=list(ROOT_HELPER))
    for context in contexts:
        try:
            context.start(priv_context.Method.ROOTWRAP)
        except (OSError, daemon.FailedToDropPrivileges) as error:
            command = context.conf.helper_command or ' '.join(
                (*ROOT_HELPER, 'privsep-helper'))
            raise NoPrivileges(
                f'no privileges: "{command}" for [{context.cfg_section}] '
                f'failed ({error}); run the agent as root, allow '
                f'privsep-helper for this user in sudoers, or set '
                f'[{context.cfg_section}] helper_command') from error


def drop_privileges():
    """Give up all capabilities of this process for good.

    uid 0 stays, because the OVSDB socket belongs to root; without
    capabilities it is worth no more than owning root's files.

    :raises OSError: when the kernel refuses
    :raises RuntimeError: when a thread still has capabilities
    """
    capability.drop_all()
