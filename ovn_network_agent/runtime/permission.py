# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The privileged side learns at a reload what an option allows now."""

from ovn_network_agent.conf import mode
from ovn_network_agent.conf import validate
from ovn_network_agent.privileged import context
from ovn_network_agent.privileged import prefix_lists

_SECTION, _OPTION = 'frr', 'frr_prefix_list'


def ask(conf, read):
    """Have the privileged side read the files, before a change takes effect.

    The privileged side does not believe the agent: it reads the files of its
    start itself.

    :param conf: the oslo.config ConfigOpts, with the values in force
    :param read: function(section, option) that returns the coming value
    :raises validate.ConfigError: when the privileged side does not allow the
        coming value; nothing may change then
    """
    name = read(_SECTION, _OPTION)
    if mode.forwards_only(conf) or name in (
            '', conf[_SECTION][_OPTION]):
        return
    what = f'[{_SECTION}] {_OPTION} = {name}'
    try:
        allowed = prefix_lists.permit()
    except context.FAILURES as error:
        raise validate.ConfigError([
            f'{what}: the privileged side cannot read its configuration '
            f'({error}); restart the agent']) from error
    if allowed != name:
        raise validate.ConfigError([
            f'{what}: the privileged side read the name '
            f'{allowed or "(empty)"} in its configuration files; reload '
            'again once the files are written, or restart the agent'])
