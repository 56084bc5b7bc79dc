#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Cost of flows: python3 -m tools.bench.flows, as root.

Against an Open vSwitch of its own with the user-space data path; the
OpenFlow part is the same with the kernel's.  The calls run in this process:
the way to the privileged daemon adds about 0.06 ms and 0.3 us an item.
"""

import argparse

from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import flow
from ovn_network_agent.privileged import openflow
from ovn_network_agent.tests.functional.openflow import base
from tools.bench import timing

report, timed = timing.report, timing.timed


def flows(count):
    """Hairpin flows of different addresses.

    :param count: how many
    :returns: list of :class:`resources.Flow`
    """
    return [base.hairpin(f'10.{n >> 16}.{n >> 8 & 255}.{n & 255}/32')
            for n in range(count)]


def singles(backend, repeat, what):
    """One flow added and deleted, again and again."""
    one = base.hairpin('198.51.100.1/32')
    adds, deletes = [], []
    for _n in range(repeat):
        spent, failed = timed(backend.apply, backends.Delta(create=(one,)))
        assert not failed, failed
        adds.append(spent)
        spent, failed = timed(backend.apply, backends.Delta(delete=(one,)))
        assert not failed, failed
        deletes.append(spent)
    report(f'{what}: add one', adds)
    report(f'{what}: delete one', deletes)


def measure(ovs, name, repeat, counts):
    """Print the times of readings and changes beside present flows.

    :param ovs: a running Open vSwitch, whose flows are deleted before
    :param name: the way to the switch, for the lines
    :param repeat: how often one flow is added and deleted
    :param counts: iterable of numbers of present flows
    """
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.StrOpt('bridge_dev', default=base.BRIDGE))
    conf([], default_config_files=[], default_config_dirs=[])
    backend = flow.FlowBackend(conf)
    for count in counts:
        ovs.ofctl('del-flows', base.BRIDGE)
        many = tuple(flows(count))
        what = f'{name}, {count} present'
        if many:
            spent, failed = timed(backend.apply, backends.Delta(create=many))
            assert not failed
            report(f'{name}: add {count}', [spent])
        report(f'{what}: read', [
            timed(backend.read, frozenset())[0] for _n in range(5)])
        singles(backend, repeat, what)
        if many:
            spent, failed = timed(backend.apply, backends.Delta(delete=many))
            assert not failed
            report(f'{name}: delete {count}', [spent])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--repeat', type=int, default=100)
    parser.add_argument('--counts', type=int, nargs='*',
                        default=[0, 1000, 10000])
    args = parser.parse_args()
    privileged.ovs.set_client_mode(False)
    openflow.register_options()
    ovs = base.OpenVSwitch()
    try:
        cfg.CONF.set_override('ovs_rundir', ovs.rundir, 'ovs')
        measure(ovs, 'OpenFlow', args.repeat, args.counts)
        cfg.CONF.set_override('ovs_wrapper',
                              f'env OVS_RUNDIR={ovs.rundir}', 'ovs')
        measure(ovs, 'ovs-ofctl', max(args.repeat // 10, 1), args.counts)
    finally:
        openflow.close()
        ovs.stop()


if __name__ == '__main__':
    main()
