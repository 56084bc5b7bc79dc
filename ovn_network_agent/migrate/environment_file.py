# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The original's EnvironmentFile=, whose form is in systemd.exec(5)."""

from collections.abc import Iterator

from ovn_network_agent.common import suggestions
from ovn_network_agent.conf import original_options
from ovn_network_agent.migrate import parsed_settings

_QUOTES = ('"', "'")
# Known beside the options; the caller looks at the first one.
_OTHERS = {original_options.CONFIG: '', original_options.RESTART_ON_UPGRADE: (
    'a package of this agent never restarts a running agent, so there is '
    'nothing to set; left out')}


def parse(content: bytes, name: str) -> parsed_settings.Source:
    """The settings, with ``config`` if the file names the YAML file."""
    made = parsed_settings.Source()
    try:
        text = content.decode('utf-8-sig')
    except UnicodeDecodeError:
        made.problems.append(f'{name}: this is no UTF-8; save it as such')
        return made
    for number, line in _lines(text):
        where = f'{name}, line {number}'
        variable, equals, value = line.partition('=')
        if not equals:
            made.problems.append(f'{where}: {line!r} has no "="; write '
                                 'NAME=VALUE, or begin the line with "#"')
            continue
        _take(made, parsed_settings.Setting(_unquoted(value.strip()), where,
                                            variable.strip()))
    return made


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """(number, line) of the assignments; a backslash continues a line."""
    waiting, first = '', 0
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not waiting:
            first = number
            if not line or line[0] in '#;':
                continue
        if line.endswith('\\'):
            waiting += line[:-1]
            continue
        yield first, waiting + line
        waiting = ''
    if waiting:
        yield first, waiting


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in _QUOTES:
        return value[1:-1]
    return value


def _take(made: parsed_settings.Source,
          setting: parsed_settings.Setting) -> None:
    name = setting.spelling.removeprefix(original_options.PREFIX).lower()
    known = [option.variable for option in original_options.OPTIONS]
    if not setting.spelling.startswith(original_options.PREFIX) or not (
            name in original_options.BY_NAME or name in _OTHERS):
        made.warnings.append(setting.say(
            'is no variable of the original; left out'
            f'{suggestions.hint(setting.spelling, known)}'))
    elif _OTHERS.get(name):
        made.warnings.append(setting.say(_OTHERS[name]))
    else:
        made.settings[name] = setting
