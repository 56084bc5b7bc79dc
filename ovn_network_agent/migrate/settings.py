# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From settings of the original to options of this agent."""

from collections.abc import Iterator
import math

from ovn_network_agent.conf import opts
from ovn_network_agent.conf import original_options
from ovn_network_agent.migrate import sources

_CONTAINERS = ('docker', 'podman', 'nerdctl')
_INPUT = ('-i', '-it', '-ti', '--interactive')


def convert(found: sources.Source) -> sources.Source:
    """The options, by (section, option), for settings of the original.

    Problems and warnings are of this conversion alone.
    """
    made = sources.Source()
    types = {(section, option.dest): option.type
             for section, option in opts.everything()}
    for option in original_options.OPTIONS:
        setting = found.settings.get(option.name)
        if setting is None:
            continue
        if option.why:
            made.warnings.append(setting.say(
                f'has no counterpart here, left out: {option.why}'))
            continue
        key = option.section, option.option
        try:
            value = _value(made, option, setting)
            types[key](value)
        except ValueError as error:
            made.problems.append(setting.say(
                f'as {option.here}: {error}'))
            continue
        made.settings[key] = sources.Setting(value, setting.where,
                                             setting.spelling)
    made.warnings.extend(_remarks(found))
    return made


def _value(made: sources.Source, option: original_options.Option,
           setting: sources.Setting) -> str:
    """The text of one option here; ValueError with problem and remedy."""
    value = setting.value
    if isinstance(value, list):
        if option.name not in ('network_cidr', 'ovn_nb_remote',
                               'ovn_sb_remote'):
            raise ValueError('is a list; write one value')
        value = ','.join(map(str, value))
    if isinstance(value, bool):
        value = 'true' if value else 'false'
    text = option.convert(value) if value != '' else ''
    if not text.isprintable():
        raise ValueError('has a character that no option may have; write it '
                         'in one line')
    if option.name == 'reconcile_interval' and '.' in text:
        whole = str(math.ceil(float(text)))
        made.warnings.append(setting.say(
            f'here this is a whole number of seconds; {whole} is written'))
        return whole
    if option.name == 'ovs_wrapper' and (passing := _passing_input(text)):
        made.warnings.append(setting.say(
            'does not pass standard input on, so no flow could be written; '
            f'{passing} is written'))
        return passing
    if option.name == 'metrics_listen' and text != str(value):
        made.warnings.append(setting.say(
            f'here an address is required; {text} is written'))
    return text


def _passing_input(wrapper: str) -> str:
    """The "docker exec" that passes input on, '' for any other wrapper."""
    words = wrapper.split()
    if (words[0:1] and words[0].rpartition('/')[2] in _CONTAINERS and
            'exec' in words and not set(_INPUT).intersection(words)):
        words.insert(words.index('exec') + 1, '-i')
        return ' '.join(words)
    return ''


def _remarks(found: sources.Source) -> Iterator[str]:
    """Warnings about values that mean something else here."""
    wrapper = found.settings.get('ovs_wrapper')
    if wrapper is None or not wrapper.value:
        return
    yield wrapper.say(
        'is for ovs-ofctl alone; the agent connects to the database of Open '
        'vSwitch itself, so [ovs] ovsdb_connection has to be reachable on '
        'this node; where [ovs] ovs_rundir is reachable too, no wrapper is '
        'needed')
