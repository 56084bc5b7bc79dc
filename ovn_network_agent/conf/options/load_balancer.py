# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[load_balancer]: the driver for virtual IPs."""

from oslo_config import cfg

GROUP = 'load_balancer'

OPTS = [
    cfg.BoolOpt(
        'withdraw_without_backends', default=True, mutable=True,
        help='Whether a virtual IP is withdrawn while the health checks of '
             'OVN say that none of its backends is online, and comes back '
             'with the first one. A virtual IP stays announced as long as one '
             'of its ports has no health check, or a backend whose state OVN '
             'does not know. The address of a router stays in any case.'),
    cfg.BoolOpt(
        'vips_behind_snat', default=False, mutable=True,
        help='Whether the driver tenant_network announces virtual IPs in '
             'networks of tenants that are not announced themselves because '
             'a router translates them (SNAT), too. The answers of a virtual '
             'IP leave with its own address in spite of SNAT. Several tenants '
             'may have the same addresses in such networks, so name what is '
             'to be announced in [tenant_network] address_scopes or in '
             '[announce].'),
]
