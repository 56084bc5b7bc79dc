# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The embedded cloud: OVN, OVS, FRR and a kernel with VRFs in one program.

:mod:`lab.boot` starts the machine, :mod:`lab.node` makes hosts in it,
:mod:`lab.cloud` builds the cloud that tests, benchmarks and the quickstart
use.
"""

import warnings

# python-ovs imports it when it is installed.
warnings.filterwarnings('ignore', message=r'\s*Eventlet is deprecated')
