# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which of several routers had an overlapping prefix first.

OVN does not say when a network came: the view's only other memory.
"""

from collections.abc import Mapping

from ovn_network_agent import model

#: The other routers with prefixes that overlap.
Rivals = tuple[str, ...]


class Claims:
    """Remembers a router's sole prefixes; at the start nobody knows before."""

    def __init__(self, start: bool) -> None:
        self._first: set[str] = set()
        # The conflicts that were there at the start, None before it.
        self._unknown: dict[str, Rivals] | None = None if start else {}

    def judge(self, found: Mapping[str, Rivals]) -> dict[str, model.Claim]:
        """How the router stands with all prefixes that may be announced."""
        judged = {key: self._judge(key, rivals)
                  for key, rivals in found.items()}
        self._first = {key for key, claim in judged.items() if claim in (
            model.Claim.SOLE, model.Claim.FIRST)}
        self._unknown = {key: found[key] for key, claim in judged.items()
                         if claim is model.Claim.UNKNOWN}
        return judged

    def _judge(self, key: str, rivals: Rivals) -> model.Claim:
        if not rivals:
            return model.Claim.SOLE
        if key in self._first:
            return model.Claim.FIRST
        # After any change of the conflict, whoever came is not the first.
        return (model.Claim.UNKNOWN
                if self._unknown is None or self._unknown.get(key) == rivals
                else model.Claim.REFUSED)
