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
