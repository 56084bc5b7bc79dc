# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The place of the agent's control socket."""

import sys


class NoSocket(Exception):
    """The configuration switches the control socket off."""


def find(given):
    """The control socket that the command line or the configuration names.

    :param given: the parsed command line, argparse.Namespace
    :returns: absolute path
    :raises NoSocket: when the agent has no control socket
    :raises cfg.Error: for a configuration that cannot be used
    """
    path = given.socket or _configured(given)
    if not path:
        raise NoSocket('[DEFAULT] control_socket is empty: this agent takes '
                       'no commands; set it, or give --socket')
    return path


def errors_of_configuration():
    """The errors of oslo.config, if the command has imported the library.

    The import takes longer than a command to the agent.

    :returns: tuple of classes of exceptions
    """
    cfg = sys.modules.get('oslo_config.cfg')
    return (cfg.Error,) if cfg else ()


def files(given):
    """The options of the command line that name configuration files.

    :param given: the parsed command line, argparse.Namespace
    :returns: list of str, as arguments for oslo.config
    """
    found = []
    for name in ('config_file', 'config_dir'):
        for path in getattr(given, name):
            found += ['--' + name.replace('_', '-'), path]
    return found


def _configured(given):
    # A command with --socket starts much faster without these imports.
    from oslo_config import cfg

    from ovn_network_agent.conf import base
    conf = cfg.ConfigOpts()
    conf.register_opts([option for option in base.OPTS
                        if option.name == 'control_socket'])
    conf(args=files(given), project=base.PROJECT, prog=base.PROJECT)
    return conf.control_socket
