# SPDX-License-Identifier: BSD-3-Clause
"""The last value that was made, for whoever asks for the same one again."""

import pickle
from collections.abc import Callable
from hashlib import blake2b
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Latest(Generic[Value]):
    """One value, and a digest of what it was made of."""

    def __init__(self) -> None:
        self._known: tuple[bytes, Value] | None = None

    def get(self, given: object, make: Callable[[], Value]) -> Value:
        """The value for what is ``given``, by all its contents; made where the last one was for others."""
        digest = blake2b(pickle.dumps(given)).digest()
        if self._known is None or self._known[0] != digest:
            self._known = digest, make()
        return self._known[1]
