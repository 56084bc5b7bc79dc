# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Console script ovn-network-agent-migrate: settings of the original, ours."""

import argparse
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import contextlib
import os
import pathlib
import stat
import sys
import tempfile
import typing

from oslo_config import cfg

from ovn_network_agent import version
from ovn_network_agent.conf import opts
from ovn_network_agent.conf import original_options
from ovn_network_agent.conf import validate
from ovn_network_agent.ctl import program
from ovn_network_agent.forward import rules
from ovn_network_agent.migrate import settings
from ovn_network_agent.migrate import sources

PROGRAM = 'ovn-network-agent-migrate'
YAML = '/etc/ovn-network-agent/config.yaml'
ENVIRONMENT = '/etc/default/ovn-network-agent'
FOLDER = '/etc/ovn-network-agent'
INI = 'ovn-network-agent.conf'
RULES = 'port-forwards.yaml'
_RULES_OPTION = ('port_forward', 'rules_file')

OK = 0
NOT_WRITTEN = 1
UNUSABLE = 2
WOULD_NOT_START = 3

# Values by section and option.
Options: typing.TypeAlias = dict[tuple[str, str], str]

_HEAD = '''\
# Made by ovn-network-agent-migrate from the settings of the original program.
# Options that are not here have their defaults, see
# ovn-network-agent.conf.sample.
'''
_DESCRIPTION = f"""\
Reads the settings of the original program, which is written in Go and has the
same name, and writes them as the configuration of this agent. The sources are
the YAML file, the file of environment variables, and the flags of the original
after "--". A flag wins over a variable, and a variable wins over the YAML
file. Without --config and --environment-file the usual files are read, if they
are there: {YAML} and
{ENVIRONMENT}.
"""
_EPILOG = """\
exit status: 0: done, and the agent would start with the result. 1: a file is
there already, or cannot be written. 2: the command line or a source cannot be
used; nothing is written. 3: written, but the agent would not start with the
result on this node; the messages say why.
"""


def main(argv: list[str] | None = None) -> int:
    """Convert the settings; the help has the exit statuses."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    own, original = arguments, []
    if '--' in arguments:
        place = arguments.index('--')
        own, original = arguments[:place], arguments[place + 1:]
    args = parser().parse_args(own)
    args.original = original
    return run(args)


def parser() -> program.Parser:
    """The command line, a :class:`program.Parser`."""
    made = program.Parser(
        prog=PROGRAM, description=_DESCRIPTION, epilog=_EPILOG,
        usage='%(prog)s [OPTION]... [-- FLAG-OF-THE-ORIGINAL...]',
        formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument('--version', action='version',
                      version=f'{PROGRAM} {version.STRING}',
                      help='show the version of the program, and exit')
    made.add_argument('--config', metavar='FILE',
                      help='YAML file of the original')
    made.add_argument('--environment-file', metavar='FILE',
                      help='file with variables OVN_NETWORK_... of the '
                      'original')
    made.add_argument('--output', metavar='DIR',
                      help='directory that gets the files; without this '
                      'option they go to standard output')
    made.add_argument('--rules-file', metavar='PATH',
                      help='path of the file of port forwards; default: '
                      f'{RULES} in the directory of --output, or in '
                      f'{FOLDER}')
    made.add_argument('--force', action='store_true',
                      help='replace files that are there')
    return made


def render(options: Options) -> str:
    """The content of the file of options."""
    sections: dict[str, list[str]] = {'DEFAULT': []}
    for (section, option), value in options.items():
        # oslo.config would replace $name by the value of an option.
        value = value.replace('$', '$$')
        sections.setdefault(section, []).append(
            f'{option} = {value}'.rstrip())
    return _HEAD + ''.join(
        f'\n[{name}]\n' + '\n'.join(lines) + '\n'
        for name, lines in sections.items() if lines)


class Made(typing.NamedTuple):
    """The files that are to be written."""

    options: Options
    forwards: str  # text of the rules file, '' for none
    problems: list[str]  # nothing is written then
    warnings: list[str]


def run(arguments: argparse.Namespace) -> int:
    """Convert, check and write; the exit status."""
    folder = os.path.abspath(arguments.output or FOLDER)
    rules_path = os.path.abspath(arguments.rules_file or
                                 os.path.join(folder, RULES))
    made = convert(_read(arguments), rules_path)
    _say('warning', made.warnings)
    if made.problems:
        _say('error', made.problems)
        return UNUSABLE
    contents = {os.path.join(folder, INI): render(made.options)}
    if made.forwards:
        contents[rules_path] = made.forwards
    if arguments.output is None:
        _show(contents)
    else:
        try:
            write(contents, arguments.force)
        except Refused as error:
            _say('error', [error])
            return NOT_WRITTEN
        _say('written', contents)
    left = _problems(made.options, made.forwards)
    _say('the agent would not start', left)
    return WOULD_NOT_START if left else OK


def convert(found: sources.Source, rules_path: str) -> Made:
    """The options and rules of this agent."""
    converted = settings.convert(found)
    text, forwarded = settings.rules_file(found, rules_path)
    options = {key: str(setting.value)
               for key, setting in converted.settings.items()}
    if text:
        options[_RULES_OPTION] = rules_path
        if ('ovn', 'ovn_nb_remote') in options:
            # The original announces no VIP without a gateway on the node.
            options[settings.ANNOUNCE] = 'with-gateway'
    parts = found, converted, forwarded
    return Made(options, text,
                [text for part in parts for text in part.problems],
                [text for part in parts for text in part.warnings])


def _read(arguments: argparse.Namespace) -> sources.Source:
    line = sources.from_flags(arguments.original)
    variables = _file(arguments.environment_file, ENVIRONMENT,
                      sources.from_environment)
    named = [source.settings.pop(original_options.CONFIG)
             for source in (line, variables)
             if original_options.CONFIG in source.settings]
    path = arguments.config or (str(named[0].value) if named else None)
    content = _file(path, YAML, sources.from_yaml)
    found = sources.merged([line, variables, content])
    if not found.settings and not found.problems:
        found.problems.append(
            'no source has any setting of the original; name its files in '
            '--config and --environment-file, or its flags after "--"')
    return found


def _file(path: str | None, default: str,
          parse: Callable[[bytes, str], sources.Source]
          ) -> sources.Source:
    if path is None and not os.path.exists(default):
        return sources.Source()
    path = path or default
    try:
        with open(path, 'rb') as opened:
            return parse(opened.read(), path)
    except OSError as error:
        return sources.Source(problems=[
            f'{path}: {error.strerror or error}; name a file of the original '
            'that you may read'])


def _show(contents: Mapping[str, str]) -> None:
    for path, text in contents.items():
        print(f'# {path}\n{text}')


def _say(kind: str, messages: Iterable[object]) -> None:
    for message in messages:
        print(f'{PROGRAM}: {kind}: {message}', file=sys.stderr)


# -- the check of the new files, as a start of the agent would make it -------

def _problems(options: Options, forwards: str) -> list[str]:
    """Reasons that would keep the agent from starting with new files."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'rules')
        named = options.get(_RULES_OPTION, '')
        if forwards:
            with open(path, 'w', encoding='utf-8') as opened:
                opened.write(forwards)
            options = {**options, _RULES_OPTION: path}
        config = os.path.join(folder, 'conf')
        with open(config, 'w', encoding='utf-8') as opened:
            opened.write(render(options))
        return [message.replace(path, named) for message in _found(config)]


def _found(config: str) -> list[str]:
    conf = cfg.ConfigOpts()
    opts.register(conf)
    conf(args=[], default_config_files=[config], default_config_dirs=[],
         use_env=False)
    return list(validate.problems(conf) or rules.problems(conf))


# -- writing: none before all are complete, and none over another -----------

class Refused(Exception):
    """A file cannot be written; the text has path and remedy."""


def write(contents: Mapping[str, str], force: bool) -> None:
    """Write files, readable for the agent's user.

    All texts stand beside their paths before the first file gets its name, so
    a full disk or a closed folder leaves no file.

    :raises Refused: when one is there, or cannot be written; the text names
        the files that are written by then
    """
    for path in contents:
        if os.path.lexists(path) and not force:
            raise Refused(f'{path} is there already; look at it, and add '
                          '--force to replace it')
    with contextlib.ExitStack() as stack:
        staged = {path: _stage(path, text, stack)
                  for path, text in contents.items()}
        _rename(staged)


def _stage(path: str, text: str, stack: contextlib.ExitStack) -> str:
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=folder)
        stack.callback(pathlib.Path(temporary).unlink, missing_ok=True)
        with open(descriptor, 'w', encoding='utf-8') as opened:
            opened.write(text)
            _set_mode(opened.fileno(), path)
    except OSError as error:
        raise _refused(path, error) from error
    return temporary


def _set_mode(descriptor: int, path: str) -> None:
    """Give a file the owner and mode of the file that it will replace.

    The file of the package for Debian is for the agent's user alone.
    """
    try:
        previous = os.stat(path)
    except FileNotFoundError:
        os.fchmod(descriptor, 0o644)
        return
    os.fchown(descriptor, previous.st_uid, previous.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(previous.st_mode))


def _rename(staged: Mapping[str, str]) -> None:
    done: list[str] = []
    for path, temporary in staged.items():
        try:
            os.replace(temporary, path)
        except OSError as error:
            raise _refused(path, error, done) from error
        done.append(path)


def _refused(path: str, error: OSError,
             done: Iterable[str] = ()) -> Refused:
    written = f'; written by then: {", ".join(done)}' if done else ''
    return Refused(f'{path}: {error.strerror or error}; name a place in '
                   '--output or --rules-file that you may write '
                   f'to{written}')


if __name__ == '__main__':
    sys.exit(main())
