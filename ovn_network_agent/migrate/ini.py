# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The text of the agent's configuration file."""

_HEAD = '''\
# Made by ovn-network-agent-migrate from the settings of the original program.
# Options that are not here have their defaults, see
# ovn-network-agent.conf.sample.
'''


def render(options):
    """The content of the file.

    :param options: dict of (section, option) to str
    :returns: str
    """
    sections = {'DEFAULT': []}
    for (section, option), value in options.items():
        # oslo.config would replace $name by the value of an option.
        value = value.replace('$', '$$')
        sections.setdefault(section, []).append(
            f'{option} = {value}'.rstrip())
    return _HEAD + ''.join(
        f'\n[{name}]\n' + '\n'.join(lines) + '\n'
        for name, lines in sections.items() if lines)
