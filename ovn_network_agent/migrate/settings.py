# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From settings of the original to options and rules of this agent."""

from collections.abc import Iterator
from collections.abc import Sequence
import math
from typing import Any

import yaml

from ovn_network_agent.common import wording
from ovn_network_agent.conf import opts
from ovn_network_agent.conf import original_options
from ovn_network_agent.files import file_problems
from ovn_network_agent.forward import rules
from ovn_network_agent.migrate import sources

_CONTAINERS = ('docker', 'podman', 'nerdctl')
_INPUT = ('-i', '-it', '-ti', '--interactive')
_VIP = ('vip', 'manage_vip', 'masquerade', 'hairpin_masquerade',
        'router_masquerade', 'rules')
_RULE = ('proto', 'port', 'dest_addr', 'dest_addrs', 'dest_port',
         'masquerade')
_NUMBERS = ('port', 'dest_port')
# A dead node must not attract what its gateways have left.
ANNOUNCE = ('port_forward', 'vip_announce')


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


def rules_file(found: sources.Source,
               name: str) -> tuple[str, sources.Source]:
    """The text of the rules file, '' for none; problems and warnings.

    Both have the same shape.  This agent refuses unknown keys and numbers in
    quotes, which the original lets pass.
    """
    made = sources.Source()
    setting = found.settings.get(original_options.RULES)
    if setting is None or setting.value in ([], ''):
        return '', made
    if not isinstance(setting.value, list):
        made.problems.append(f'{setting.where}: {setting.spelling}: is no '
                             'list; begin each VIP with "- vip:"')
        return '', made
    vips = [_vip(made, setting, index, vip)
            for index, vip in enumerate(setting.value)]
    text = yaml.safe_dump({original_options.RULES: vips}, sort_keys=False,
                          default_flow_style=False, allow_unicode=True)
    try:
        rules.parse(text.encode(), name)
    except file_problems.BadFile as error:
        made.problems.extend(f'{setting.where}: as {message}'
                             for message in error.messages)
    return text, made


def _vip(made: sources.Source, setting: sources.Setting,
         index: int, vip: Any) -> Any:
    path = f'{setting.spelling}[{index}]'
    if not isinstance(vip, dict):
        return vip
    kept = _known(made, setting, path, vip, _VIP)
    if isinstance(kept.get('rules'), list):
        kept['rules'] = [_rule(made, setting, f'{path}.rules[{place}]', rule)
                         for place, rule in enumerate(kept['rules'])]
    return kept


def _rule(made: sources.Source, setting: sources.Setting,
          path: str, rule: Any) -> Any:
    if not isinstance(rule, dict):
        return rule
    kept = _known(made, setting, path, rule, _RULE)
    for key in _NUMBERS:
        value = kept.get(key)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            kept[key] = int(value)
    if isinstance(kept.get('proto'), str):
        kept['proto'] = kept['proto'].lower()
    return kept


def _known(made: sources.Source, setting: sources.Setting,
           path: str, mapping: dict[str, Any],
           known: Sequence[str]) -> dict[str, Any]:
    """The keys of a mapping that the original knows; others get a warning."""
    for key in mapping:
        if key not in known:
            made.warnings.append(
                f'{setting.where}: {path}.{key} = {mapping[key]}: is no key '
                'of the original, which ignores it; left out'
                f'{wording.hint(key, known)}')
    return {key: value for key, value in mapping.items()
            if key in known and value is not None}
