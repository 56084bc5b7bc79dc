# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[metrics]: the listener for Prometheus and for readiness over HTTP."""

from oslo_config import cfg

from ovn_network_agent.conf import types

GROUP = 'metrics'

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
]
