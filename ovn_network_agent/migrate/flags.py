# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command line of the original, in the form of Go's package flag."""

from collections.abc import Iterable

from ovn_network_agent.common import suggestions
from ovn_network_agent.conf import original_options
from ovn_network_agent.migrate import parsed_settings

_WHERE = 'command line of the original'
# Flags without a value that only look at something.
_LOOKS = ('version', 'check_config', 'help', 'h')


def parse(arguments: Iterable[str]) -> parsed_settings.Source:
    """The settings, with ``config`` if the line names the YAML file."""
    made = parsed_settings.Source()
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith('-') or word in ('-', '--'):
            made.problems.append(
                f'{_WHERE}: {word}: is no flag; a flag begins with "--"')
            continue
        flag, equals, value = word.lstrip('-').partition('=')
        _take(made, flag, value if equals else None, rest)
    return made


def _take(made: parsed_settings.Source, flag: str, value: str | None,
          rest: list[str]) -> None:
    name = flag.replace('-', '_')
    spelling = f'--{flag}'
    if name in _LOOKS:
        made.warnings.append(f'{_WHERE}: {spelling}: sets no option; '
                             'left out')
        return
    option = original_options.BY_NAME.get(name)
    if (option is None and name != original_options.CONFIG) or '_' in flag:
        made.problems.append(
            f'{_WHERE}: {spelling}: is no flag of the original; remove it'
            f'{suggestions.hint(spelling, _spellings())}')
        return
    if value is None:
        # The value of a boolean needs an equals sign.
        if option and option.convert is original_options.boolean:
            value = 'true'
        elif not rest:
            made.problems.append(f'{_WHERE}: {spelling}: has no value; add '
                                 'one, or remove the flag')
            return
        else:
            value = rest.pop(0)
    made.settings[name] = parsed_settings.Setting(value, _WHERE, spelling,
                                                  empty_counts=True)


def _spellings() -> list[str]:
    return ['--' + name.replace('_', '-')
            for name in (*original_options.BY_NAME, original_options.CONFIG)]
