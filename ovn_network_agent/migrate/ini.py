# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The text of the agent's configuration file."""

import typing

# Values by section and option.
Options: typing.TypeAlias = dict[tuple[str, str], str]

_HEAD = '''\
# Made by ovn-network-agent-migrate from the settings of the original program.
# Options that are not here have their defaults, see
# ovn-network-agent.conf.sample.
'''


def render(options: Options) -> str:
    """The content of the file."""
    sections: dict[str, list[str]] = {'DEFAULT': []}
    for (section, option), value in options.items():
        # oslo.config would replace $name by the value of an option.
        value = value.replace('$', '$$')
        sections.setdefault(section, []).append(
            f'{option} = {value}'.rstrip())
    return _HEAD + ''.join(
        f'\n[{name}]\n' + '\n'.join(lines) + '\n'
        for name, lines in sections.items() if lines)
