# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The command line of the agent: its help, and hints about typos."""

from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import copy
import io
import sys
from typing import Any

from oslo_config import cfg
from oslo_log import log

from ovn_network_agent.common import wording
from ovn_network_agent.conf.options import base

# Of cfg.find_config_files(), for the help.
_PLACES = ('the first ovn-network-agent.conf in ~/.ovn-network-agent, ~, '
           '/etc/ovn-network-agent and /etc')
# By the name of the option.
_DEFAULTS = {'config-file': _PLACES, 'config_file': _PLACES}
_USAGE = 2
_Texts = tuple[list[str], str | None, str | None]

DESCRIPTION = """\
Makes the floating IPs of OVN routers reachable through BGP, on a gateway node.
The configuration has all other options. The environment has precedence over
the files: OS_<SECTION>__<OPTION>.
"""
EPILOG = """\
Exit status: 0: stopped in good order. 1: the node cannot run the agent, and
the messages say what is missing. 2: the command line or the configuration
cannot be used. 3: stopped, but the clean-up, or the plan of a dry run, is not
complete. 4: stopped, but not every gateway was taken over.
"""


class Probe(cfg.ConfigOpts):
    """ConfigOpts that read the command line alone, and no files.

    The help has the true defaults, which oslo.config hides from argparse.
    """

    def __init__(self) -> None:
        super().__init__()
        self.registered: list[cfg.Opt] = []

    def register_cli_opt(self, opt: cfg.Opt, group: Any = None,
                         **kwargs: Any) -> bool:
        """As in the base class, but for what the library cannot do.

        oslo.config is installed without the templates of its completions; the
        agent has completions of its own.
        """
        return opt.name != 'shell_completion' and bool(
            super().register_cli_opt(opt, group, **kwargs))

    def register_cli_opts(self, opts: Iterable[cfg.Opt],
                          group: Any = None) -> None:
        """As in the base class, with true defaults in the help."""
        made = _true(opts)
        self.registered += made
        super().register_cli_opts(made, group)


def _true(options: Iterable[cfg.Opt]) -> list[cfg.Opt]:
    made = copy.deepcopy(list(options))
    for option in made:
        default = _DEFAULTS.get(option.name, option.default)
        if option.help and '%(default)s' in option.help:
            option.help = option.help.replace(
                '%(default)s', str(default).replace('%', '%%'))
    return made


def probe() -> Probe:
    """A :class:`Probe` with the options of the command line."""
    made = Probe()
    log.register_options(made)
    made.register_cli_opts(base.CLI_OPTS)
    made.register_cli_opts(base.CLI_ONLY_OPTS)
    return made


def parse(argv: list[str], version: str | None = None) -> Probe:
    """Parse the command line without the options that name files.

    :raises SystemExit: on ``--help``, ``--version`` or unknown arguments, for
        these with a hint
    """
    made = probe()
    output = io.StringIO()
    try:
        with contextlib.redirect_stderr(output):
            _call(made, argv, version)
    except SystemExit as error:
        sys.stderr.write(output.getvalue())
        if error.code == _USAGE:
            for hint in _hints(argv):
                print(f'{base.PROJECT}: {hint}', file=sys.stderr)
        raise
    sys.stderr.write(output.getvalue())
    return made


def _call(made: Probe, argv: list[str], version: str | None = None) -> None:
    made(args=argv, project=base.PROJECT, prog=base.PROJECT, version=version,
         default_config_files=[], default_config_dirs=[], use_env=False,
         description=DESCRIPTION, epilog=EPILOG)


def options() -> list[_Texts]:
    """The command line's options: "--dry-run", name of a value, help."""
    found: list[_Texts] = [
        (['-h', '--help'], None, 'show the help, and exit'),
        (['--version'], None, 'show the version, and exit')]
    made = probe()
    # This registers those that name files.
    _call(made, [])
    for option in made.registered:
        found += _texts(option)
    return sorted(found, key=lambda each: each[0][-1].lstrip('-'))


def _texts(option: cfg.Opt) -> Iterator[_Texts]:
    name = option.name.replace('_', '-')
    short = [f'-{option.short}'] if option.short else []
    others = [f'--{other.name}' for other in option.deprecated_opts
              if other.name]
    if not isinstance(option, cfg.BoolOpt):
        value = option.metavar or 'VALUE'
        if name.endswith(('-dir', '-file')):
            value = 'PATH'
        yield [*short, f'--{name}', *others], value, option.help
        return
    yield [*short, f'--{name}', *others], None, option.help
    yield [f'--no{name}'], None, f'the inverse of --{name}'


def _hints(argv: list[str]) -> Iterator[str]:
    known = [text for texts, _value, _help in options() for text in texts]
    for word in argv:
        name = word.partition('=')[0]
        if name.startswith('--') and name not in known:
            close = wording.nearest(name, known)
            if close:
                yield f'{name}: did you mean {close}?'
