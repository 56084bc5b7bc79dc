# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From ``port_forwards`` of the original to the rules file of this agent.

Both have the same shape.  This agent refuses unknown keys and numbers in
quotes, which the original lets pass.
"""

from collections.abc import Sequence
from typing import Any

import yaml

from ovn_network_agent.common import suggestions
from ovn_network_agent.conf import original_options
from ovn_network_agent.files import file_problems
from ovn_network_agent.forward import rules
from ovn_network_agent.migrate import sources

_VIP = ('vip', 'manage_vip', 'masquerade', 'hairpin_masquerade',
        'router_masquerade', 'rules')
_RULE = ('proto', 'port', 'dest_addr', 'dest_addrs', 'dest_port',
         'masquerade')
_NUMBERS = ('port', 'dest_port')
# A dead node must not attract what its gateways have left.
ANNOUNCE = ('port_forward', 'vip_announce')


def convert(found: sources.Source,
            name: str) -> tuple[str, sources.Source]:
    """The text of the rules file, '' for none; problems and warnings."""
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
                f'{suggestions.hint(key, known)}')
    return {key: value for key, value in mapping.items()
            if key in known and value is not None}
