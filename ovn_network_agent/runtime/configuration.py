# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The configuration of a start: all sources read, all problems found."""

import contextlib

from oslo_config import cfg

from ovn_network_agent import version
from ovn_network_agent.conf import opts
from ovn_network_agent.conf import validate
from ovn_network_agent.forward import rules
from ovn_network_agent.runtime import loader
from ovn_network_agent.runtime import rows_files


def read(conf: cfg.ConfigOpts, argv: list[str]) -> None:
    """Read all sources.

    :raises validate.ConfigError: with the remedy, when one cannot be read
    """
    try:
        opts.load(conf, argv, version=f'{version.PACKAGE} {version.STRING}')
    except (OSError, UnicodeError) as e:
        if 'completion.template' in str(e):
            raise validate.ConfigError([
                '--shell_completion: the installed oslo.config has no '
                f'templates of completions ({e}); use the file in '
                'contrib/completion']) from e
        raise validate.ConfigError(['a configuration file cannot be read: '
                                    f'{e}']) from e
    except cfg.ConfigFilesNotFoundError as e:
        raise validate.ConfigError([
            f'{e}; name files that exist with --config-file']) from e
    except cfg.ConfigFilesPermissionDeniedError as e:
        raise validate.ConfigError([
            f'{e}; let the user of the agent read them']) from e
    except cfg.ConfigFileParseError as e:
        raise validate.ConfigError([
            f'{e}; a file has lines "option = value" below a section like '
            '[DEFAULT]']) from e


def problems(conf: cfg.ConfigOpts) -> list[str]:
    """All problems that make a start impossible, those of YAML files, too."""
    messages = validate.problems(conf)
    with contextlib.suppress(cfg.Error, ValueError):
        messages += file_problems(conf)
    if messages:
        # Problems of names and rules are reported in spite of others.
        with contextlib.suppress(cfg.Error, ValueError):
            try:
                loader.check_names(conf.drivers)
            except loader.LoadError as e:
                messages.append(str(e))
    return messages


def warnings(conf: cfg.ConfigOpts) -> list[str]:
    """Settings that look unintended but prevent no start; without problems."""
    return [*validate.warnings(conf), *rules.warnings(conf),
            *rows_files.warnings(conf)]


def file_problems(conf: cfg.ConfigOpts) -> list[str]:
    """Why the YAML files that options name cannot be used."""
    return [*rules.problems(conf), *rows_files.problems(conf)]
