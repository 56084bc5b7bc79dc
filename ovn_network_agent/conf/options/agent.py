# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[agent]: options that Neutron's agents have under these names."""

from oslo_config import cfg

from ovn_network_agent.conf import types

GROUP = 'agent'

OPTS = [
    cfg.Opt(
        'root_helper', type=types.Command(), default='sudo -n',
        help='Command in front of "privsep-helper" where the agent has not '
             'the capabilities itself: "sudo -n", or "sudo" with a rootwrap '
             'and its configuration. The command has to end after the start '
             'of the helper, must not ask for a password, and has to permit '
             'the helper with all its arguments. An agent with the '
             'capabilities forks its daemons and does not use the command. '
             'The helper_command of a daemon\'s own section has precedence.'),
    cfg.StrOpt(
        'root_helper_daemon',
        help='Has no effect, and a value is warned of. Neutron runs many '
             'commands through a rootwrap daemon; this agent runs none. Each '
             'of its privileged daemons starts once and stays. The option '
             'exists so that a section written for Neutron is no mistake.'),
]
