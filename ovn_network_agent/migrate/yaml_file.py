# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The YAML file of the original."""

from ovn_network_agent.common import suggestions
from ovn_network_agent.conf import original_options
from ovn_network_agent.files import document
from ovn_network_agent.migrate import parsed_settings

_KNOWN = (*original_options.BY_NAME, original_options.RULES)
_SCALARS = (str, int, float, bool)


def parse(content: bytes, name: str) -> parsed_settings.Source:
    """The settings in a YAML file, ``port_forwards`` as it is there."""
    made = parsed_settings.Source()
    try:
        found = document.parse(content.decode('utf-8-sig'))
    except UnicodeDecodeError:
        made.problems.append(f'{name}: this is no UTF-8; save it as such')
        return made
    made.problems.extend(flaw.say(name) for flaw in found.flaws)
    if found.value is None or made.problems:
        return made
    if not isinstance(found.value, dict):
        made.problems.append(f'{name}: holds no options; it has lines '
                             '"option: value"')
        return made
    for key, value in found.value.items():
        setting = parsed_settings.Setting(
            value, f'{name}, line {found.line((key,))}', key)
        if key not in _KNOWN:
            made.warnings.append(setting.say(
                'is no option of the original, which ignores it; left out'
                f'{suggestions.hint(key, _KNOWN)}'))
        elif value is not None:
            _take(made, key, setting)
    return made


def _take(made: parsed_settings.Source, key: str,
          setting: parsed_settings.Setting) -> None:
    values = (setting.value if isinstance(setting.value, list)
              else [setting.value])
    if key == original_options.RULES or all(
            isinstance(v, _SCALARS) for v in values):
        made.settings[key] = setting
    else:
        made.problems.append(setting.say(
            'is a mapping; write one value, or a list of values'))
