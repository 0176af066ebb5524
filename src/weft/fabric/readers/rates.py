# SPDX-License-Identifier: BSD-3-Clause
"""InfiniBand speeds: the data rate of ``4xQDR``.

Because of the line code, the signalling rate of a lane is higher than its data rate. The rates here are data rates, the
most a link can carry; packet headers take a few per cent of them.

| speed | Gbit/s signalled a lane | line code          | Gbit/s of data a lane |
|-------|-------------------------|--------------------|-----------------------|
| SDR   | 2.5                     | 8b/10b             | 2                     |
| DDR   | 5                       | 8b/10b             | 4                     |
| QDR   | 10                      | 8b/10b             | 8                     |
| FDR10 | 10.3125                 | 64b/66b            | 10                    |
| FDR   | 14.0625                 | 64b/66b            | 13.64                 |
| EDR   | 25.78125                | 64b/66b            | 25                    |
| HDR   | 53.125 (PAM4)           | 256b/257b + RS-FEC | 50                    |
| NDR   | 106.25 (PAM4)           | 256b/257b + RS-FEC | 100                   |
| XDR   | 212.5 (PAM4)            | 256b/257b + RS-FEC | 200                   |
"""

import re
from typing import NamedTuple


class Speed(NamedTuple):
    """One generation: signalling rate per lane in Gbit/s, line code, and the share of the rate that is data."""

    signalled: float
    code: str
    share: float

    @property
    def data(self) -> float:
        """Data rate per lane in bytes per second."""
        return self.signalled * self.share * 1e9 / 8


FEC = (514 / 544) * (256 / 257)  # RS(544,514) over 256b/257b blocks
SPEEDS = {
    "SDR": Speed(2.5, "8b/10b", 8 / 10),
    "DDR": Speed(5.0, "8b/10b", 8 / 10),
    "QDR": Speed(10.0, "8b/10b", 8 / 10),
    "FDR10": Speed(10.3125, "64b/66b", 64 / 66),
    "FDR": Speed(14.0625, "64b/66b", 64 / 66),
    "EDR": Speed(25.78125, "64b/66b", 64 / 66),
    "HDR": Speed(53.125, "256b/257b + RS-FEC", FEC),
    "NDR": Speed(106.25, "256b/257b + RS-FEC", FEC),
    "XDR": Speed(212.5, "256b/257b + RS-FEC", FEC),
}
#: By signalling rate of a lane as OpenSM prints it, and by the codes of a port's LinkSpeedActive and LinkWidthActive
#: (InfiniBand specification, PortInfo and its extended speeds, as ibdiagnet2 puts them into one number).
SIGNALLED = {"2.5": "SDR", "5": "DDR", "10": "QDR", "14": "FDR", "25": "EDR", "50": "HDR", "100": "NDR", "200": "XDR"}
ACTIVE_SPEEDS = {
    1: "SDR", 2: "DDR", 4: "QDR", 0x10000: "FDR10", 0x100: "FDR", 0x200: "EDR",
    0x400: "HDR", 0x800: "NDR", 0x1000: "XDR",
}  # fmt: skip
ACTIVE_WIDTHS = {1: "1x", 2: "4x", 4: "8x", 8: "12x", 16: "2x"}
WIDTHS = (1, 2, 4, 8, 12)
TEXT = re.compile(r"([0-9]{1,2})x ?([A-Za-z0-9?.]{1,8})", re.ASCII)


def rate_of(text: str) -> float:
    """Data rate in bytes per second of a width and speed such as ``4xQDR``; nan if either is not in the table."""
    found = TEXT.fullmatch(text.strip())
    if not found or int(found[1]) not in WIDTHS or found[2].upper() not in SPEEDS:
        return float("nan")
    return int(found[1]) * SPEEDS[found[2].upper()].data
