# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The check of the new files, as a start of the agent would make it."""

import os
import tempfile

from oslo_config import cfg

from ovn_network_agent.conf import opts
from ovn_network_agent.conf import validate
from ovn_network_agent.forward import rules
from ovn_network_agent.migrate import ini

_RULES = ('port_forward', 'rules_file')


def problems(options, forwards):
    """Reasons that would keep the agent from starting with new files.

    :param options: dict of (section, option) to str
    :param forwards: text of the rules file, '' for none
    :returns: list of str
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'rules')
        named = options.get(_RULES, '')
        if forwards:
            with open(path, 'w', encoding='utf-8') as opened:
                opened.write(forwards)
            options = {**options, _RULES: path}
        config = os.path.join(folder, 'conf')
        with open(config, 'w', encoding='utf-8') as opened:
            opened.write(ini.render(options))
        return [message.replace(path, named) for message in _found(config)]


def _found(config):
    conf = cfg.ConfigOpts()
    opts.register(conf)
    conf(args=[], default_config_files=[config], default_config_dirs=[],
         use_env=False)
    found = validate.problems(conf)
    return found or rules.problems(conf)
