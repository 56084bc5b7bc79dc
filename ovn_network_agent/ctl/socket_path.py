# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The place of the agent's control socket."""

import argparse
import sys


class NoSocket(Exception):
    """The configuration switches the control socket off."""


def find(args: argparse.Namespace) -> str:
    """The control socket that the command line or the configuration names.

    :raises NoSocket: when the agent has no control socket
    :raises cfg.Error: for a configuration that cannot be used
    """
    path = args.socket or _configured(args)
    if not path:
        raise NoSocket('[DEFAULT] control_socket is empty: this agent takes '
                       'no commands; set it, or give --socket')
    return path


def errors_of_configuration(*others: type[Exception]
                            ) -> tuple[type[Exception], ...]:
    """The errors of a configuration that cannot be used, and others.

    Those of oslo.config only where it is imported, which takes long.
    """
    cfg = sys.modules.get('oslo_config.cfg')
    return (OSError, ValueError, *others, *((cfg.Error,) if cfg else ()))


def files(args: argparse.Namespace) -> list[str]:
    """The options of the command line that name configuration files."""
    found = []
    for name in ('config_file', 'config_dir'):
        for path in getattr(args, name):
            found += ['--' + name.replace('_', '-'), path]
    return found


def _configured(args: argparse.Namespace) -> str:
    # A command with --socket starts much faster without these imports.
    from oslo_config import cfg

    from ovn_network_agent.conf.options import base
    conf = cfg.ConfigOpts()
    conf.register_opts([option for option in base.OPTS
                        if option.name == 'control_socket'])
    conf(args=files(args), project=base.PROJECT, prog=base.PROJECT)
    path: str = conf.control_socket
    return path
