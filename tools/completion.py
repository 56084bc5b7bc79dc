# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The completion of bash, zsh and fish for all programs, from their parsers.

Prints nothing when the files in contrib/completion are up to date; with
--write puts them there.  Ends with status 1 when a file is out of date.
"""

import argparse
import pathlib
import sys
import tomllib

import shtab

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / 'contrib' / 'completion'
# Directory below contrib/completion and name of a file, by shell.
PLACES = {'bash': '{}', 'zsh': '_{}', 'fish': '{}.fish'}
# Options of a library that not every supported version of the library has:
# oslo.log 8 no longer has them.
_NOT_EVERYWHERE = {'--watch-log-file', '--nowatch-log-file'}
# What an option or argument takes, by the name of its value.
_PATHS = {'PATH': shtab.FILE, 'FILE': shtab.FILE, 'DIR': shtab.DIRECTORY}
# A key of "addresses --json", and the characters of its values.  Tenants name
# routers, and shells expand the words that are offered: a name with any other
# character is not offered.
_ASKED = {'ADDRESS': ('addresses', 'address', '[0-9a-f.:]'),
          'ROUTER': ('routers', 'router_name', '[A-Za-z0-9._-]')}
_COMMAND = ('ovn-network-agent-ctl addresses --json 2>/dev/null | '
            """sed -n 's/^ *"{key}": "\\({one}{one}*\\)",*$/\\1/p' """
            '| sort -u')
_PREAMBLE = {
    'bash': '_ovn_network_agent_{name}() {{\n  {command} |\n'
            '    while read -r word; do\n'
            '      [[ $word != "$1"* ]] || echo "$word"\n    done\n}}\n',
    'zsh': '_ovn_network_agent_{name}() {{\n'
           '  local -a found=(${{(f)"$({command})"}})\n'
           '  compadd -a found\n}}\n',
    'fish': 'function _ovn_network_agent_{name}\n  {command}\nend\n'}
_HEAD = ('# Completion of {shell} for {program}, made by '
         '"tools/completion.py --write".\n')


def _asked(name: str) -> dict:
    function = f'_ovn_network_agent_{name}'
    return {'bash': function, 'zsh': function, 'fish': f'({function})'}


def _preamble(program: str, shell: str) -> str:
    if program != 'ovn-network-agent-ctl':
        return ''
    return '\n'.join(
        _PREAMBLE[shell].format(name=name, command=_COMMAND.format(
            key=key, one=characters))
        for name, key, characters in _ASKED.values())


def _complete(parser: argparse.ArgumentParser, words: dict[str, list]):
    """Say what the values of a parser and of its commands are.

    :param words: by the name of a value
    """
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action.choices, dict):
            for command in action.choices.values():
                _complete(command, words)
        elif action.metavar in words:
            action.choices = words[action.metavar]
        # The client of "explain --client" is elsewhere.
        elif (action.metavar in _ASKED and
              '--client' not in action.option_strings):
            action.complete = _asked(_ASKED[action.metavar][0])
        elif action.metavar in _PATHS:
            action.complete = _PATHS[action.metavar]


def _agent() -> argparse.ArgumentParser:
    """A parser with the options of the agent, which oslo.config parses."""
    from ovn_network_agent.conf import command_line
    parser = argparse.ArgumentParser('ovn-network-agent', add_help=False)
    for texts, metavar, about in command_line.options():
        if _NOT_EVERYWHERE.intersection(texts):
            continue
        if metavar is None:
            parser.add_argument(*texts, action='store_true', help=about)
        else:
            parser.add_argument(*texts, metavar=metavar, help=about)
    return parser


def _status() -> argparse.ArgumentParser:
    """Likewise for the program of oslo.upgradecheck."""
    parser = argparse.ArgumentParser('ovn-network-agent-status')
    for text in ('--config-file', '--config-dir'):
        parser.add_argument(text, metavar='PATH',
                            help='configuration of the agent')
    upgrade = parser.add_subparsers().add_parser(
        'upgrade', help='whether the node is ready for an upgrade')
    upgrade.add_argument('action', choices=['check'])
    upgrade.add_argument('--json', action='store_true', help='for programs')
    return parser


def _parsers() -> list[argparse.ArgumentParser]:
    from ovn_network_agent.cmd import ctl
    from ovn_network_agent.cmd import migrate
    from ovn_network_agent.diagnosis.node import examination
    with open(ROOT / 'pyproject.toml', 'rb') as opened:
        points = tomllib.load(opened)['project']['entry-points']
    parsers = [ctl.parser(), migrate.parser(), _agent(), _status()]
    for parser in parsers:
        _complete(parser, {
            'CHECK': [check.name for check in examination.CHECKS],
            'BACKEND': sorted(points['ovn_network_agent.backends'])})
    return parsers


def _rendered(parser: argparse.ArgumentParser, shell: str) -> str:
    """The file without the library's advice on where to put it."""
    text = shtab.complete(parser, shell,
                          preamble=_preamble(parser.prog, shell))
    head = [_HEAD.format(shell=shell, program=parser.prog)]
    if shell == 'zsh':
        head.insert(0, f'#compdef {parser.prog}\n')
    _advice, _blank, rest = text.partition('\n\n' if shell != 'zsh' else
                                           'zsh-completions-howto.org\n')
    return ''.join(head) + '\n' + rest.strip('\n') + '\n'


def files() -> dict[pathlib.Path, str]:
    """dict of path to the content that it has to have."""
    sys.path.insert(0, str(ROOT))
    return {FOLDER / shell / name.format(parser.prog):
            _rendered(parser, shell)
            for parser in _parsers() for shell, name in PLACES.items()}


def main() -> int:
    """Write or compare the files."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--write', action='store_true')
    write = parser.parse_args().write
    status = 0
    for path, text in files().items():
        if write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f'{path.relative_to(ROOT)} is out of date; run '
                  'tools/completion.py --write')
            status = 1
    return status


if __name__ == '__main__':
    sys.exit(main())
