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

"""Reloading changed files (SIGHUP), either completely or not at all."""

from oslo_config import cfg

from ovn_network_agent.conf import levels
from ovn_network_agent.conf import opts
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf import relations
from ovn_network_agent.conf import settings
from ovn_network_agent.conf import validate


def reload(conf, prepare=lambda read: None):
    """Apply the options that can change without a restart.

    oslo.config would apply any value, and raise at the use of a bad value,
    in the middle of a pass.  So the files are first read into another object,
    and checked as at a start.

    :param conf: a ConfigOpts that :func:`opts.load` filled
    :param prepare: function(read) that makes what depends on the options,
        with the ``read`` of :mod:`conf.settings`; what it raises refuses the
        reload
    :returns: what ``prepare`` made
    :raises validate.ConfigError: when the files cannot be used; the values
        stay as they were
    """
    aside = cfg.ConfigOpts()
    opts.register(aside)
    for group, options in plugins.options(conf):
        aside.register_opts(options, group=group)
    try:
        aside(args=[], project=opts.PROJECT, prog=opts.PROJECT,
              default_config_files=conf.config_file,
              default_config_dirs=conf.config_dir)
        validate.check(aside)
        _may_change(conf, aside)
        prepared = prepare(settings.after(conf, aside))
        conf.mutate_config_files()
        levels.apply(conf)
    except (OSError, UnicodeError) as error:
        raise validate.ConfigError([
            f'a configuration file cannot be read: {error}']) from error
    except cfg.Error as error:
        raise validate.ConfigError([str(error)]) from error
    return prepared


def _may_change(conf, aside):
    """Check that all changed options can change without a restart.

    :raises validate.ConfigError: when a change needs a restart
    """
    now, then = (c.port_forward.rules_file for c in (conf, aside))
    if bool(now) != bool(then):
        raise validate.ConfigError([relations.say(
            '[port_forward] rules_file', then or '(empty)',
            f'to {"begin" if then else "end"} forwarding ports takes a '
            'restart of the agent, as only a start looks whether the node '
            'can do it; the rules of a file that is named already may come '
            'and go')])
