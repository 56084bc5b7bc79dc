# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What test_privileges runs in a process of its own.

``python -m ...privileges_child NAME`` runs one function; its return value is
printed as JSON.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

from oslo_config import cfg
from oslo_privsep import capabilities

from ovn_network_agent import privileged
from ovn_network_agent.conf import opts
from ovn_network_agent.privileged import nft
from ovn_network_agent.privileged.daemon import capability
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.daemon import start
from ovn_network_agent.privileged.network import links
from ovn_network_agent.privileged.network import netlink
from ovn_network_agent.tests import waiting
from ovn_network_agent.watches import nftables

# Seconds; a call to a dead daemon has to fail at once.
PROMPTLY = 5.0


def _status(pid='self'):
    """{field: text} of /proc/<pid>/status."""
    with open(f'/proc/{pid}/status') as opened:
        return dict(line.rstrip('\n').split(':\t', 1) for line in opened
                    if ':\t' in line)


def _error(function, *args):
    """[exception class, text] of a call that has to fail promptly."""
    started = time.monotonic()
    try:
        function(*args)
    except Exception as error:
        assert time.monotonic() - started < PROMPTLY
        return [type(error).__name__, str(error)]
    raise AssertionError(f'{function} did not fail')


def _daemons():
    return [c.pid for c in privileged.CONTEXTS]


def drop():
    """Start, and what is left to this process then."""
    start.start(cfg.CONF)
    made = subprocess.run(['ip', 'link', 'add', 'new', 'type', 'veth'],
                          capture_output=True, text=True)
    status = _status()
    return {'sets': [status[f'Cap{name}'] for name in
                     ('Inh', 'Prm', 'Eff', 'Bnd', 'Amb')],
            'no_new_privs': status['NoNewPrivs'],
            'threads': [capability.permitted(f'self/task/{thread}')
                        for thread in os.listdir('/proc/self/task')],
            'link': made.returncode, 'uid': os.getuid(),
            'call': links.set_links_up(['br-ex']),
            'sysctl': netlink.set_sysctls(
                [['net/ipv4/conf/br-ex/proxy_arp', '1']])}


def daemons():
    """What the daemons have."""
    start.start(cfg.CONF)
    return {c.name: [_status(c.pid)[name] for name in
                     ('CapEff', 'CapPrm', 'NoNewPrivs', 'Name')]
            for c in privileged.CONTEXTS}


def signals():
    """The daemons after signals to the whole process group."""
    os.setpgid(0, 0)
    for number in context.STAY_SIGNALS:
        signal.signal(number, lambda *unused: None)
    start.start(cfg.CONF)
    for number in context.STAY_SIGNALS:
        os.killpg(0, number)
    waiting.lasts(_all_are_alive, 0.2)
    return {'alive': [c.alive for c in privileged.CONTEXTS],
            'call': links.set_links_up(['br-ex']),
            'handlers_kept': all(callable(signal.getsignal(number))
                                 for number in context.STAY_SIGNALS),
            'blocked': _status()['SigBlk']}


def _all_are_alive():
    dead = [c.name for c in privileged.CONTEXTS if not c.alive]
    if dead:
        raise AssertionError(f'a signal has ended {dead}')


def killed():
    """Calls after the death of the daemon."""
    start.start(cfg.CONF)
    os.kill(privileged.kernel.pid, signal.SIGKILL)
    first = _error(links.set_links_up, ['br-ex'])
    waiting.eventually(lambda: not privileged.kernel.alive,
                       'the end of the daemon')
    return {'first': first,
            'later': [_error(links.set_links_up, ['br-ex'])
                      for _repeat in range(2)],
            'alive': privileged.kernel.alive}


def dry_run():
    """Changes in a dry run, with a daemon that also reads and without."""
    start.start(cfg.CONF, dry_run=True)
    return {'errors': [_error(links.set_links_up, ['br-ex']),
                       _error(nft.subscribe, os.devnull)],
            'pids': _daemons()}


def orphans():
    """Print the daemons' pids, then die."""
    start.start(cfg.CONF)
    print(json.dumps(_daemons()), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def lacking():
    """Start without the capability that one daemon has to keep."""
    effective = set(capabilities.get_caps()[0])
    some = effective - {capabilities.CAP_NET_ADMIN}
    capabilities.drop_all_caps_except(some, some, [])
    return _error(start.start, cfg.CONF)


def helper():
    """A daemon started by a helper command, not forked."""
    cfg.CONF.set_override('helper_command', shutil.which('privsep-helper'),
                          'privsep_kernel')
    return _of_a_command()


def root_helper():
    """A daemon started by the command of all daemons."""
    cfg.CONF.set_override('root_helper', 'env ROOT_HELPER=1', 'agent')
    sent = privileged.kernel.helper_command('/x')
    return {**_of_a_command(), 'words': sent[:2]}


def _of_a_command():
    os.setpgid(0, 0)
    start._run_helpers([privileged.kernel])
    own = links.set_links_up(['br-ex'])
    pids = [int(pid) for pid in os.listdir('/proc')
            if pid.isdigit() and _is_daemon(pid)]
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    return {'call': own, 'daemons': len(pids),
            'no_new_privs': [_status(pid)['NoNewPrivs'] for pid in pids],
            'after': links.set_links_up(['br-ex'])}


def _is_daemon(pid):
    """Whether it is a living daemon of this process group.

    The helper has forked it, so it is not our child.
    """
    try:
        status = _status(pid)
        return (os.getpgid(int(pid)) == os.getpgrp()
                and status['Name'] == 'ovnagent-kernel'
                and not status['State'].startswith('Z'))
    except (FileNotFoundError, ProcessLookupError):
        return False


def granted():
    """An ordinary user to whom the capabilities were granted."""
    capabilities.set_keepcaps(True)
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    needed = {number for context in privileged.CONTEXTS
              for number in context.conf.capabilities}
    capabilities.drop_all_caps_except(needed, needed, [])
    start.start(cfg.CONF)
    return {'uid': os.getuid(), 'left': _status()['CapPrm'],
            'call': links.set_links_up(['br-ex'])}


def netfilter():
    """nft and connection tracking with one capability, and the watch."""
    cfg.CONF.set_override('rules_file', '/rules', 'port_forward')
    cfg.CONF.set_override('vrf_name', 'vrf-provider', 'frr')
    start.start(cfg.CONF)
    nft.replace_table(
        ('ip', 64000, True, (('192.0.2.53', True, False, (
            ('tcp', 53, 53, False, (('10.0.0.5', True),), ((0, 1),)),)),),
         False),
        {'provider_networks': ['198.51.100.0/24']}, [])
    nft.stamp_table('ip', 'a' * 32, 'b' * 40)
    noticed = threading.Event()
    watching = nftables.TableWatch(lambda _by: noticed.set())
    watching.start()
    nft.change_elements('ip', {}, {'guarded': ['veth-default']})
    return {'tables': list(nft.read_tables(['ip', 'ip6'])),
            'sets': list(nft.read_sets('ip', ['guarded', 'x'])),
            'connections': nft.delete_connections(
                'ip', 64000, [['tcp', '192.0.2.53', 53, '10.0.0.5', 53]]),
            'noticed': noticed.wait(60), 'left': _status()['CapPrm']}


def no_helper():
    """An ordinary user without a helper that works."""
    cfg.CONF.set_override('helper_command', '/bin/false', 'privsep_kernel')
    os.setuid(65534)
    return _error(start.start, cfg.CONF)


if __name__ == '__main__':
    opts.register(cfg.CONF)
    cfg.CONF([], project='ovn-network-agent', default_config_files=[],
             default_config_dirs=[])
    print(json.dumps(globals()[sys.argv[1]]()))
