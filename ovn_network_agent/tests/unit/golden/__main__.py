# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Write the golden files anew."""

from ovn_network_agent.tests.unit import golden

for name, case in golden.cases().items():
    (golden.DIRECTORY / (name + '.nft')).write_text(golden.text(*case))
