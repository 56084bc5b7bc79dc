# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Configurations of tests."""

from oslo_config import cfg

from ovn_network_agent.conf import opts


def conf(**values):
    """All options of the agent with their defaults, but for these.

    Neither files nor the environment count.

    :param values: option=value, or group__option=value
    :returns: an oslo.config ConfigOpts
    """
    made = cfg.ConfigOpts()
    opts.register(made)
    made([], project='none', default_config_files=[],
         default_config_dirs=[], use_env=False)
    for name, value in values.items():
        group, found, option = name.partition('__')
        if found:
            made.set_override(option, value, group=group)
        else:
            made.set_override(name, value)
    return made


def loaded(*argv, version=None):
    """Options as the program loads them, from files and the environment.

    :param argv: arguments of the program
    :param version: text for ``--version``
    :returns: an oslo.config ConfigOpts
    """
    made = cfg.ConfigOpts()
    opts.load(made, list(argv), version=version)
    return made
