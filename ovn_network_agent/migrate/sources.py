# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The settings of the original, from each place where it takes them.

The command line has the form of Go's package flag, and the environment that of
EnvironmentFile= in systemd.exec(5).
"""

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import typing
from typing import Any

from ovn_network_agent.common import wording
from ovn_network_agent.conf import original_options
from ovn_network_agent.files import document


class Setting(typing.NamedTuple):
    """The value that one source gives to an option of the original."""

    value: object  # str, int, float or bool, or a list of these
    where: str  # the source, such as 'config.yaml, line 3'
    spelling: str  # the option as that source writes it, '--bridge-dev'
    # Whether '' is a value; to the original only on the command line.
    empty_counts: bool = False

    def say(self, text: str) -> str:
        """A message about this setting, with the problem and the remedy."""
        value = (','.join(map(str, self.value))
                 if isinstance(self.value, list) else self.value)
        return f'{self.where}: {self.spelling} = {value}: {text}'


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """All that one source of the original says."""

    # By the option in YAML, or by (section, option) once converted.
    settings: dict[Any, Setting] = dataclasses.field(default_factory=dict)
    # Nothing can be written with one.
    problems: list[str] = dataclasses.field(default_factory=list)
    warnings: list[str] = dataclasses.field(default_factory=list)


def merged(sources: Iterable[Source]) -> Source:
    """The settings in force, as in the original: the first source wins."""
    made = Source()
    for source in sources:
        for name, setting in source.settings.items():
            if setting.value == '' and not setting.empty_counts:
                made.warnings.append(setting.say(
                    'the original takes an empty value for none, and so does '
                    'this program; only the flag of the command line can '
                    'make an option empty'))
                continue
            made.settings.setdefault(name, setting)
        made.problems.extend(source.problems)
        made.warnings.extend(source.warnings)
    return made


_COMMAND_LINE = 'command line of the original'
# Flags without a value that only look at something.
_LOOKS = ('version', 'check_config', 'help', 'h')


def from_flags(arguments: Iterable[str]) -> Source:
    """The settings, with ``config`` if the line names the YAML file."""
    made = Source()
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith('-') or word in ('-', '--'):
            made.problems.append(f'{_COMMAND_LINE}: {word}: is no flag; a '
                                 'flag begins with "--"')
            continue
        flag, equals, value = word.lstrip('-').partition('=')
        _take_flag(made, flag, value if equals else None, rest)
    return made


def _take_flag(made: Source, flag: str, value: str | None,
               rest: list[str]) -> None:
    name = flag.replace('-', '_')
    spelling = f'--{flag}'
    if name in _LOOKS:
        made.warnings.append(f'{_COMMAND_LINE}: {spelling}: sets no option; '
                             'left out')
        return
    option = original_options.BY_NAME.get(name)
    if (option is None and name != original_options.CONFIG) or '_' in flag:
        made.problems.append(
            f'{_COMMAND_LINE}: {spelling}: is no flag of the original; '
            f'remove it{wording.hint(spelling, _spellings())}')
        return
    if value is None:
        # The value of a boolean needs an equals sign.
        if option and option.convert is original_options.boolean:
            value = 'true'
        elif not rest:
            made.problems.append(f'{_COMMAND_LINE}: {spelling}: has no value; '
                                 'add one, or remove the flag')
            return
        else:
            value = rest.pop(0)
    made.settings[name] = Setting(value, _COMMAND_LINE, spelling,
                                  empty_counts=True)


def _spellings() -> list[str]:
    return ['--' + name.replace('_', '-')
            for name in (*original_options.BY_NAME, original_options.CONFIG)]


_QUOTES = ('"', "'")
# Known beside the options; the caller looks at the first one.
_OTHERS = {original_options.CONFIG: '', original_options.RESTART_ON_UPGRADE: (
    'a package of this agent never restarts a running agent, so there is '
    'nothing to set; left out')}


def from_environment(content: bytes, name: str) -> Source:
    """The settings, with ``config`` if the file names the YAML file."""
    made = Source()
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
        _take_variable(made, Setting(_unquoted(value.strip()), where,
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


def _take_variable(made: Source,
          setting: Setting) -> None:
    name = setting.spelling.removeprefix(original_options.PREFIX).lower()
    known = [option.variable for option in original_options.OPTIONS]
    if not setting.spelling.startswith(original_options.PREFIX) or not (
            name in original_options.BY_NAME or name in _OTHERS):
        made.warnings.append(setting.say(
            'is no variable of the original; left out'
            f'{wording.hint(setting.spelling, known)}'))
    elif _OTHERS.get(name):
        made.warnings.append(setting.say(_OTHERS[name]))
    else:
        made.settings[name] = setting


_KNOWN = (*original_options.BY_NAME, original_options.RULES)
_SCALARS = (str, int, float, bool)


def from_yaml(content: bytes, name: str) -> Source:
    """The settings in a YAML file, ``port_forwards`` as it is there."""
    made = Source()
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
        setting = Setting(
            value, f'{name}, line {found.line((key,))}', key)
        if key not in _KNOWN:
            made.warnings.append(setting.say(
                'is no option of the original, which ignores it; left out'
                f'{wording.hint(key, _KNOWN)}'))
        elif value is not None:
            _take_key(made, key, setting)
    return made


def _take_key(made: Source, key: str,
          setting: Setting) -> None:
    values = (setting.value if isinstance(setting.value, list)
              else [setting.value])
    if key == original_options.RULES or all(
            isinstance(v, _SCALARS) for v in values):
        made.settings[key] = setting
    else:
        made.problems.append(setting.say(
            'is a mapping; write one value, or a list of values'))
