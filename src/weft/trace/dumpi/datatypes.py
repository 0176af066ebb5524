# SPDX-License-Identifier: BSD-3-Clause
"""Bytes of datatypes in DUMPI's texts: those of MPI by name, derived ones by the calls that made them."""

from weft.trace.dumpi.text import Call

_NAMES = {
    1: "CHAR SIGNED_CHAR UNSIGNED_CHAR BYTE PACKED INT8_T UINT8_T C_BOOL CHARACTER INTEGER1 LOGICAL1 CXX_BOOL",
    2: "SHORT UNSIGNED_SHORT INT16_T UINT16_T INTEGER2 REAL2",
    4: "INT UNSIGNED FLOAT WCHAR INT32_T UINT32_T INTEGER REAL LOGICAL INTEGER4 REAL4 UNSIGNED_INT",
    8: "LONG UNSIGNED_LONG LONG_LONG_INT LONG_LONG UNSIGNED_LONG_LONG DOUBLE INT64_T UINT64_T AINT OFFSET "
       "DOUBLE_PRECISION INTEGER8 REAL8 COMPLEX COMPLEX8 FLOAT_INT 2INT 2INTEGER 2REAL C_COMPLEX C_FLOAT_COMPLEX",
    6: "SHORT_INT",
    12: "DOUBLE_INT LONG_INT",
    16: "LONG_DOUBLE DOUBLE_COMPLEX REAL16 COMPLEX16 2DOUBLE_PRECISION C_DOUBLE_COMPLEX INTEGER16",
    20: "LONG_DOUBLE_INT",
    32: "COMPLEX32 C_LONG_DOUBLE_COMPLEX",
}  # fmt: skip
BYTES = {f"MPI_{name}": size for size, names in _NAMES.items() for name in names.split()}


class Datatypes:
    """The datatypes of a rank, as its calls make them.

    Attributes
    ----------
    unknown
        Uses of a datatype whose size no call of the text tells; its elements are taken as a byte each.
    """

    def __init__(self) -> None:
        self._derived: dict[int, int] = {}
        self.unknown = 0

    def made(self, call: Call) -> bool:
        """Whether a call makes a datatype, whose size is known from then on."""
        if not call.name.startswith("MPI_Type_") or "newtype" not in call.arguments:
            return False
        each = self.size(call, "oldtype") if "oldtype" in call.arguments else 1
        count = call.number("count", 1)
        kind = call.name.removeprefix("MPI_Type_").removeprefix("create_")
        lengths = call.numbers("lengths") or call.numbers("blocklengths")
        if kind in ("vector", "hvector"):
            count *= call.number("blocklength", 1)
        elif kind in ("indexed", "hindexed"):
            count = sum(lengths)
        elif kind == "indexed_block":
            count *= call.number("blocklength", 1)
        elif kind not in ("contiguous", "dup", "resized"):
            return True  # structures and the like: unknown
        self._derived[call.number("newtype")] = each * count
        return True

    def size(self, call: Call, argument: str) -> int:
        """Bytes of an element of a call's datatype."""
        name = call.word(argument)
        if name in BYTES:
            return BYTES[name]
        if name in ("MPI_DATATYPE_NULL", "MPI_LB", "MPI_UB"):
            return 0
        number = call.number(argument, -1)
        if number not in self._derived:
            self.unknown += 1
        return self._derived.get(number, 1)
