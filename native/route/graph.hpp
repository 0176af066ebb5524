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
    std::int32_t const *source;   // links: source vertex
    std::int32_t const *target;   // links: target vertex
    std::int32_t const *uplink;   // hosts: link from a host to its switch, -1 = none
    std::int32_t const *delivery; // hosts: link from the switch to a host, -1 = none
    std::int32_t const *leaf;     // hosts: switch of a host, -1 = none
    std::int32_t const *forward;  // switches x hosts: link from a switch towards a host, -1 = none

    // The target switch of a link; negative if the target is a host.
    std::int32_t next_switch(std::int32_t link) const { return target[link] - hosts; }
};

} // namespace weft::route
