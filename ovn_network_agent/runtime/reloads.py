# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The configuration: its reading at a start, and its reloads."""

from collections.abc import Callable
import contextlib
import datetime
import threading
import typing
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent import version
from ovn_network_agent.common import wording
from ovn_network_agent.conf import mode
from ovn_network_agent.conf import opts
from ovn_network_agent.conf import reload
from ovn_network_agent.conf import validate
from ovn_network_agent.drivers import base
from ovn_network_agent.forward import rules
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.routing import prefix_lists
from ovn_network_agent.runtime import loader
from ovn_network_agent.runtime import rows_files

LOG = logging.getLogger(__name__)

# The privileged side has to allow its value.
_SECTION, _OPTION = 'frr', 'frr_prefix_list'


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


class Closed(Exception):
    """The agent stops, and reloads no more."""


class Answer(typing.NamedTuple):
    """The result of a reload."""

    at: str  # UTC, such as 2026-01-31T12:00:00Z
    refused: tuple[str, ...] = ()  # reasons
    changed: tuple[reload.Change, ...] = ()  # in force
    waiting: tuple[reload.Change, ...] = ()  # need a restart

    def json(self) -> dict[str, Any]:
        """The answer as a dict of JSON values."""
        return {'at': self.at, 'refused': list(self.refused),
                'changed': [each._asdict() for each in self.changed],
                'waiting': [each._asdict() for each in self.waiting]}


class Reloads:
    """Counts the requests, so that no request gets an earlier answer."""

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        self._changed = threading.Condition()
        self._asked = self._applied = self._answered = self._in_force = 0
        self._closed = False
        self.last: Answer | None = None

    # -- on any thread ----------------------------------------------------

    def ask(self) -> int:
        """Ask for a reload; returns a number for :meth:`wait`."""
        with self._changed:
            self._asked += 1
            number = self._asked
        self._wake()
        return number

    def wait(self, number: int, timeout: float, in_force: bool = False
             ) -> tuple[Answer | None, bool]:
        """Wait for the answer to a request.

        :param in_force: whether to wait for the next complete pass, too; a
            refused reload needs none
        :returns: the answer, None without one in time; and whether a complete
            pass has followed
        :raises Closed: when the agent stops first
        """
        def over() -> bool:
            return self._closed or self._answered >= number and (
                not in_force or self._in_force >= number or
                bool(self.last and self.last.refused))
        with self._changed:
            self._changed.wait_for(over, timeout)
            if self._answered >= number:
                return self.last, self._in_force >= number
            if self._closed:
                raise Closed('the agent stops, and reloads no more')
            return None, False

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the agent is degraded, a tuple of str."""
        last = self.last
        if last is None or not last.refused:
            return ()
        more = len(last.refused) - 1
        others = f' (and {more} more, see the log)' if more else ''
        return (f'the reload at {last.at} was refused, and the agent would '
                f'not start with these files: {last.refused[0]}{others}',)

    # -- on the loop thread -----------------------------------------------

    def begin(self) -> bool:
        """Begin to answer all requests so far; False without one."""
        with self._changed:
            self._applied = self._asked
            return self._applied > self._answered

    def apply(self, conf: cfg.ConfigOpts,
              renewed: Callable[[loader.Read], list[base.Driver]]
              ) -> list[base.Driver] | None:
        """Read the configuration again, and answer."""
        def prepare(read: loader.Read) -> list[base.Driver]:
            made = renewed(read)
            _permit(conf, read)
            return made

        drivers = None
        at = datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')
        try:
            done = reload.reload(conf, prepare,
                                 file_problems)
        except (validate.ConfigError, loader.LoadError) as e:
            LOG.error('The configuration stays as it was: %s', e)
            answer = Answer(at, tuple(getattr(e, 'messages', (str(e),))))
        else:
            drivers = done.prepared
            answer = Answer(at, (), done.changed, done.waiting)
            LOG.info('Reloaded; changed: %s',
                     '; '.join(map(str, done.changed)) or 'nothing')
            for change in done.waiting:
                LOG.warning('This option waits for a restart: %s', change)
        with self._changed:
            self.last = answer
            self._answered = self._applied
            self._changed.notify_all()
        return drivers

    def passed(self) -> None:
        """Note that a complete pass with the present options has ended."""
        if self._in_force != self._answered:
            with self._changed:
                self._in_force = self._answered
                self._changed.notify_all()

    def close(self) -> None:
        """Answer no request any more, because the agent stops."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def _permit(conf: cfg.ConfigOpts, read: loader.Read) -> None:
    """Have the privileged side read its files; it does not trust the agent.

    :raises validate.ConfigError: when it does not allow the coming value;
        nothing may change then
    """
    name = read(_SECTION, _OPTION)
    if mode.forwards_only(conf) or name in (
            '', conf[_SECTION][_OPTION]):
        return
    what = f'[{_SECTION}] {_OPTION} = {name}'
    try:
        allowed = prefix_lists.permit()
    except context.FAILURES as error:
        raise validate.ConfigError([
            f'{what}: the privileged side cannot read its configuration '
            f'({wording.error(error)}); restart the agent']) from error
    if allowed != name:
        raise validate.ConfigError([
            f'{what}: the privileged side read the name '
            f'{allowed or "(empty)"} in its configuration files; reload '
            'again once the files are written, or restart the agent'])
