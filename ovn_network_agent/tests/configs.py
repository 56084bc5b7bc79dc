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
