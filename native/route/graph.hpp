// SPDX-License-Identifier: BSD-3-Clause
// A network and its forwarding tables as arrays that the caller owns; the same struct in src/weft/route/library.py.
#pragma once

#include <cstddef>
#include <cstdint>

#define WEFT_ROUTE_API extern "C" __attribute__((visibility("default")))

namespace weft::route {

constexpr std::int32_t none = -1;

// Vertices are hosts first, then switches; links are directed.
struct Graph {
    std::int32_t hosts;
    std::int32_t switches;
    std::int32_t links;
    std::int32_t threads;
    std::int32_t const *source;   // links: the vertex a link begins at
    std::int32_t const *target;   // links: the vertex a link leads to
    std::int32_t const *uplink;   // hosts: the link a host sends into, -1 = none
    std::int32_t const *delivery; // hosts: the link that reaches a host, -1 = none
    std::int32_t const *leaf;     // hosts: the switch a host hangs on, -1 = none
    std::int32_t const *forward;  // switches x hosts: the link a switch takes towards a host, -1 = none

    // The switch a link leads to, or a negative number where it leads to a host.
    std::int32_t next_switch(std::int32_t link) const { return target[link] - hosts; }
};

} // namespace weft::route
