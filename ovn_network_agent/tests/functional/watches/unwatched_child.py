# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What test_nftables runs in a process of its own.

A root side in the namespace of the test, and an agent that is elsewhere for
a while: the kernel lets no socket be handed over between the two.
"""

import json

from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import nftables
from ovn_network_agent.conf import opts
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.functional.nft import base


def main():
    opts.register(cfg.CONF)
    cfg.CONF([], default_config_files=[], default_config_dirs=[])
    # Without rules the root side loads no table.
    cfg.CONF.set_override('rules_file', '/rules', 'port_forward')
    cfg.CONF.set_override('vrf_name', base.VRF, 'frr')
    privileged.netfilter.attach(privileged.netfilter.fork())
    backend = nftables.NftablesBackend(cfg.CONF)
    backend.attach(backends.Context({}, str, wake=lambda *_a, **_k: None))
    table = base.table(base.TARGET)
    with namespaces.new():
        failures = backend.apply(backends.Delta(create=[table]))
        found = [_seen(backend, table)]
    found.append(_seen(backend, table))
    backend.close()
    print(json.dumps({'failures': list(failures.values()), 'seen': found}))


def _seen(backend, table):
    """Whether the table is read, and whether changes of it are noticed."""
    found = backend.read(frozenset([table.ref]))
    return set(found) == {table}, backend._watch is not None


if __name__ == '__main__':
    main()
