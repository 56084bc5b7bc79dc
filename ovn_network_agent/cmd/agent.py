# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Console script ovn-network-agent: from the command line to the service.

The agent handles signals itself: the launcher of oslo.service would lose
SIGINT, and would restart on SIGHUP, which would drain the gateway ports.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import faulthandler
import functools
import signal
import sys

from ovn_network_agent.common import wording
from ovn_network_agent.runtime.process import interpreter

interpreter.hold()
# This comes before the import of any library that would import eventlet.
interpreter.keep_eventlet_out()

from oslo_config import cfg  # noqa: E402
from oslo_log import log as logging  # noqa: E402

from ovn_network_agent import service  # noqa: E402
from ovn_network_agent import version  # noqa: E402
from ovn_network_agent.backends import base  # noqa: E402
from ovn_network_agent.conf import log_levels  # noqa: E402
from ovn_network_agent.conf import unknown  # noqa: E402
from ovn_network_agent.conf import validate  # noqa: E402
from ovn_network_agent.drivers import base as drivers_base  # noqa: E402
from ovn_network_agent.engine import plan_text  # noqa: E402
from ovn_network_agent.ovn import view  # noqa: E402
from ovn_network_agent.ovsdb import streams  # noqa: E402
from ovn_network_agent.privileged.daemon import context  # noqa: E402
from ovn_network_agent.privileged.daemon import memory_trim  # noqa: E402
from ovn_network_agent.privileged.daemon import start as privileges  # noqa: E402
from ovn_network_agent.runtime import loader  # noqa: E402
from ovn_network_agent.runtime import reloads  # noqa: E402
from ovn_network_agent.runtime.process import file_permissions  # noqa: E402
from ovn_network_agent.runtime.process import mode  # noqa: E402
from ovn_network_agent.runtime.process import signals  # noqa: E402
from ovn_network_agent.runtime.process import single_instance  # noqa: E402
from ovn_network_agent.watches import base as watches  # noqa: E402
from ovn_network_agent.watches import flows  # noqa: E402
from ovn_network_agent.watches import kernel  # noqa: E402
from ovn_network_agent.watches import node_conflicts  # noqa: E402
from ovn_network_agent.watches import rate_limit  # noqa: E402
from ovn_network_agent.watches import restarts  # noqa: E402
from ovn_network_agent.watches.frr import frr_observers  # noqa: E402

interpreter.release()

LOG = logging.getLogger(__name__)

EXIT_OK = 0
EXIT_ENVIRONMENT = 1
EXIT_CONFIGURATION = 2
EXIT_INCOMPLETE = 3
EXIT_NOT_TAKEN_OVER = 4
# Seconds between two looks at the privileged daemons, whose end is told, too.
_LOOK = 10.0
_LEVELS = [*logging.get_default_log_levels(), 'oslo_privsep.daemon=WARNING',
           'ovsdbapp=INFO', 'oslo.privsep.daemon=WARNING']


class EnvironmentProblem(Exception):
    """The node cannot run the agent; the messages have reason and remedy."""

    def __init__(self, messages: Iterable[str]) -> None:
        self.messages = tuple(messages)
        super().__init__('\n'.join(messages))


def main(argv: list[str] | None = None) -> int:
    """Run the agent until a signal stops it.

    :returns: exit status: 0 after an orderly stop, 1 when the node cannot run
        the agent, 2 when the configuration cannot be used, 3 after an
        incomplete clean-up or plan, 4 after a stop in which other chassis
        are not known to have taken over all gateway ports
    """
    conf = cfg.CONF
    interpreter.hold()
    try:
        _check_threads()
        plugins = _configure(conf, sys.argv[1:] if argv is None else argv)
        if conf.check_config:
            return _checked(conf)
        if conf.strict:
            raise validate.ConfigError(['--strict: give --check-config, too'])
        return _run(conf, *plugins)
    except (validate.ConfigError, cfg.Error, loader.LoadError) as e:
        return _fail('configuration', getattr(e, 'messages', (str(e),)),
                     EXIT_CONFIGURATION)
    except EnvironmentProblem as e:
        return _fail('environment', e.messages, EXIT_ENVIRONMENT)
    except (privileges.NoPrivileges, view.NotReady) as e:
        return _fail('environment', (str(e),), EXIT_ENVIRONMENT)
    finally:
        interpreter.release()


def _check_threads() -> None:
    """Raise EnvironmentProblem if eventlet has replaced Python's threads."""
    patched = interpreter.patched()
    if patched:
        raise EnvironmentProblem([
            f'eventlet has patched {", ".join(patched)} before the start; '
            'take the call of eventlet.monkey_patch() out of sitecustomize '
            f'and out of the files *.pth of {sys.prefix}'])


def _warn(messages: Iterable[str]) -> None:
    for message in messages:
        print(f'ovn-network-agent: warning: {message}', file=sys.stderr)


def _checked(conf: cfg.ConfigOpts) -> int:
    warnings = reloads.warnings(conf)
    if conf.strict and warnings:
        return _fail('configuration', warnings, EXIT_CONFIGURATION)
    _warn(warnings)
    print('configuration OK')
    return EXIT_OK


def _fail(kind: str, messages: Iterable[str], status: int) -> int:
    for message in messages:
        print(f'ovn-network-agent: {kind}: {message}',
              file=sys.stderr)
    return status


def _configure(conf: cfg.ConfigOpts, argv: list[str]
               ) -> tuple[list[drivers_base.Driver], list[base.Backend]]:
    """Load configuration and plugins; ConfigError if they cannot be used."""
    signals.set_defaults(conf)
    logging.set_defaults(default_log_levels=_LEVELS)
    reloads.read(conf, argv)
    messages = reloads.problems(conf)
    if messages:
        # A misspelt name is often the reason for a missing option.
        _warn([*unknown.keys(conf), *unknown.variables(conf)])
        raise validate.ConfigError(messages)
    return loader.load_drivers(conf), loader.load_backends(conf)


def _run(conf: cfg.ConfigOpts, drivers: list[drivers_base.Driver],
         backends: Sequence[base.Backend]) -> int:
    logging.setup(conf, 'ovn-network-agent')
    log_levels.apply(conf)
    signals.arm(conf)
    # systemd ends a loop that hangs with SIGABRT; the log then says where.
    faulthandler.enable()
    caught = signals.Signals(signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    for message in validate.warnings(conf):
        LOG.warning('%s', message)
    _check_program()
    # A second agent must end before it changes anything, but a plan need not.
    place = None
    if not conf.dry_run:
        place = _place(conf)
        # The lock comes first: the original is looked for where the lock is.
        _check_original()
    _check_node(backends)
    # The fork comes before the first thread, and takes the capabilities away.
    contexts = _start_daemons(conf, place, conf.dry_run)
    LOG.info('Starting %s', version.STRING)
    conf.log_opt_values(LOG, logging.DEBUG)
    _say_mode(conf, drivers)
    limiter = rate_limit.RateLimit(
        functools.partial(base.doubted_kinds, backends))
    agent = service.AgentService(conf, drivers, backends,
                                 _observers(conf, limiter), limiter=limiter)
    try:
        if conf.dry_run:
            return _dry_run(agent, conf)
        return _serve(agent, caught, contexts)
    finally:
        agent.close()


def prepared(conf: cfg.ConfigOpts, argv: list[str], dry_run: bool,
             values: Mapping[str, Mapping[str, object]]
             ) -> service.AgentService:
    """A service whose loop is not started, for a clean-up.

    :param dry_run: refuse changes, also while an agent runs
    :param values: of options that count instead of the configured ones, by
        section
    :raises EnvironmentProblem: when an agent runs here, too
    """
    logging.set_defaults(default_log_levels=_LEVELS)
    reloads.read(conf, argv)
    for section, options in values.items():
        for name, value in options.items():
            conf.set_override(name, value,
                              None if section == 'DEFAULT' else section)
    messages = reloads.problems(conf)
    if messages:
        raise validate.ConfigError(messages)
    drivers, backends = loader.load_drivers(conf), loader.load_backends(conf)
    if not (conf.log_file or conf.use_journal):
        # Standard output has the result.
        conf.set_override('use_stderr', True)
    logging.setup(conf, 'ovn-network-agent')
    log_levels.apply(conf)
    place = None if dry_run else _place(conf)
    _check_original()
    _start_daemons(conf, place, dry_run)
    return service.AgentService(conf, drivers, backends)


def _start_daemons(conf: cfg.ConfigOpts, place: single_instance.Place | None,
                   dry_run: bool) -> list[context.Context]:
    contexts = mode.contexts(conf)
    privileges.prepare()
    interpreter.settle()
    privileges.start(conf, contexts, dry_run=dry_run)
    streams.configure(conf)
    if place:
        place.answer()
    return contexts


def _say_mode(conf: cfg.ConfigOpts, drivers: Iterable[drivers_base.Driver]
              ) -> None:
    """Start the checks of a full agent, or log which drivers are left out."""
    if mode.name(conf) == mode.FULL:
        node_conflicts.start_check(conf)
        return
    used = [driver.name for driver in drivers]
    LOG.info('%s mode: [ovn] ovn_nb_remote and ovn_sb_remote are empty, so '
             'OVN, Open vSwitch and FRR are left alone; of [DEFAULT] drivers '
             'this uses %s, and not %s', mode.name(conf), ', '.join(used),
             ', '.join(name for name in conf.drivers if name not in used) or
             'any other')


def _observers(conf: cfg.ConfigOpts, limiter: rate_limit.RateLimit
               ) -> list[watches.Observer]:
    heartbeats = watches.Heartbeat()
    found = [heartbeats, kernel.Sysctls(limiter, heartbeats)]
    if mode.name(conf) != mode.FULL:
        return found
    found += [*frr_observers.make(conf, heartbeats, limiter),
              restarts.of_ovs(conf, heartbeats)]
    if kernel.vnis_wanted(conf):
        found.append(kernel.NextHops(limiter, heartbeats,
                                     conf.evpn.table_base))
    if not conf.ovs.ovs_wrapper:
        found.append(flows.Flows(conf, limiter))
    return found


def _place(conf: cfg.ConfigOpts) -> single_instance.Place:
    try:
        return single_instance.Place(
            single_instance.describe(conf.control_socket))
    except single_instance.AnotherOne as e:
        raise EnvironmentProblem([str(e)]) from e
    except OSError as e:
        raise EnvironmentProblem([
            f'whether another agent runs here is unknown: '
            f'{wording.error(e)}']) from e


def _check_original() -> None:
    """Raise EnvironmentProblem while the original program runs."""
    found = single_instance.find_original()
    if found.running:
        pids = ', '.join(f'{pid:d}' for pid in found.running)
        raise EnvironmentProblem([
            f'the original program runs here as process {pids}: each would '
            'undo the changes of the other. Stop the original first '
            '("systemctl stop", or end the process); "--dry-run" may run '
            'beside the original'])
    for unit in found.enabled:
        LOG.warning('The unit %s is enabled and starts the original program '
                    'with the node: disable the unit, or put the unit of this '
                    'agent in its place', unit)


def _check_program() -> None:
    """Check that what is imported later can be read then, too.

    Without other packages the agent still announces, so only Python's own
    library is worth an EnvironmentProblem.
    """
    text, of_python = file_permissions.unreadable()
    if of_python:
        raise EnvironmentProblem([text])
    if text:
        LOG.warning('%s', text)


def _check_node(backends: Sequence[base.Backend]) -> None:
    messages = [message for backend in backends
                for message in _check(backend)]
    if messages:
        raise EnvironmentProblem(messages)


def _check(backend: base.Backend) -> list[str]:
    """The missing prerequisites of a backend, which may be foreign code."""
    try:
        return list(backend.check())
    except Exception as e:
        return [f'the check of the backend {backend.name} failed: '
                f'{type(e).__name__}: {e}']


def _serve(agent: service.AgentService, caught: signals.Signals,
           contexts: Sequence[context.Context]) -> int:
    for each in contexts:
        each.ended = caught.wake
    agent.start(ended=caught.wake)
    keeper = memory_trim.Keeper(memory_trim.trim)
    keeper.start()
    settled = False
    while not agent.wait(0):
        number = caught.wait(_LOOK)
        if agent.ready and not settled:
            # What the first views have of OVN lives on.
            interpreter.settle()
            # All objects are frozen, so the collection takes no time.
            memory_trim.release()
            settled = True
        keeper.look()
        if number is None:
            if not all(each.alive for each in contexts):
                # A forked daemon cannot be started again.  All objects stay,
                # and the next start takes them over.
                LOG.critical('A privileged daemon has died; ending, so that '
                             'the supervisor starts the agent again')
                return EXIT_ENVIRONMENT
            continue
        LOG.info('Caught %s', signal.Signals(number).name)
        if number == signal.SIGHUP:
            agent.reset()
        else:
            agent.stop()
    if not agent.complete:
        return EXIT_INCOMPLETE
    if agent.drain and agent.drain.failed:
        LOG.warning('Stopped; not every gateway was taken over')
        return EXIT_NOT_TAKEN_OVER
    LOG.info('Stopped')
    return EXIT_OK


def _dry_run(agent: service.AgentService, conf: cfg.ConfigOpts) -> int:
    steps, outcome = agent.plan(conf.ovn.ovsdb_connection_timeout)
    for line in plan_text.render(steps, outcome):
        print(line)
    complete = not (outcome.unreadable or outcome.broken)
    return EXIT_OK if complete else EXIT_INCOMPLETE


if __name__ == '__main__':
    sys.exit(main())
