# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[metrics]: the listener for Prometheus and for readiness over HTTP."""

from oslo_config import cfg

from ovn_network_agent.conf import types

GROUP = 'metrics'
LOOPBACK, ALWAYS, NEVER = 'loopback', 'always', 'never'

OPTS = [
    cfg.Opt(
        'listen', type=types.ListenAddress(), default='',
        help='Address and port on which the agent answers "/metrics" '
             '(Prometheus), "/healthz" and "/readyz", like "127.0.0.1:9132" '
             'or "[::1]:9132". A port alone means 127.0.0.1. Empty (the '
             'default) means no listener. Everyone who can reach the address '
             'can read the metrics, without a password and without TLS: the '
             'reference of the metrics says what they tell. If the address '
             'cannot be used, the agent reports itself degraded, tries again '
             'every five seconds, and does its work.'),
    cfg.StrOpt(
        'page', default=LOOPBACK,
        choices=[(LOOPBACK, 'only where "listen" has a loopback address'),
                 (ALWAYS, 'on each address of "listen"'),
                 (NEVER, 'nowhere')],
        help='Whether "/" of the listener is a page for a browser, with what '
             '"ovn-network-agent-ctl status" shows. Unlike the metrics, this '
             'page names routers, their addresses and BGP neighbours, and '
             'like them it has no password. So the default serves this page '
             'only to users of the node.'),
]
