// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace weft::simulate {

// A vertex is a host (0 .. hosts - 1, in the order of the file) or a switch (counted on from there).
using Vertex = std::int32_t;
inline constexpr std::int32_t none = -1;

struct Link {
    Vertex from, to;
    double bytes_per_s;
    double latency_s;
};

// LogGP's parameters of messages to another node that are larger than `above_bytes`; the segment with the largest such
// limit counts. A segment may reach less than its adapter's rate with one rank: the rest of its time per byte keeps the
// sender busy.
struct Segment {
    double above_bytes = -1;
    double overhead_s = 0; // o: keeps the sending rank's processor busy
    double gap_s = 0;      // g: least time between two message starts of one adapter
    double s_per_byte = 0; // what G has above the network's own: keeps the sender busy, too
};

struct MessageCost {
    double inside_s = 0;           // between two ranks of one node, any size
    std::vector<Segment> segments; // ascending; messages that no segment covers cost their bytes alone

    Segment of(double bytes) const {
        auto found = Segment{};
        for (auto const &each : segments)
            if (bytes > each.above_bytes)
                found = each;
        return found;
    }
};

// Connections opened at the first contact of two ranks on different nodes.
struct Connections {
    double cost_s = 0;           // cost of a connection at each end
    std::int64_t most_eager = 0; // jobs of at most this many ranks connect all pairs at start-up instead
    std::string start_up;        // traffic of the library's start-up: "barrier" or "nothing"
};

// A whole machine as read from the flat text that weft.launch.simulated writes (see README.md for its lines).
struct Description {
    std::string name;
    std::vector<std::string> hosts;
    std::vector<std::string> switches;
    std::vector<Link> links;
    std::vector<std::int32_t> uplink; // per host: the link it injects into
    std::vector<std::int32_t> next;   // [switch * hosts + destination] -> link, or none
    double memory_bytes_per_s = 0;    // all copies inside a node share this
    double memory_latency_s = 0;
    double core_bytes_per_s = 0;     // most that one rank copies; 0: as much as its node
    bool library_copies = false;     // SMPI's own algorithms pay for their copies, too
    std::int32_t alltoall_steps = 0; // of all-to-alls under way in HPE Cray's MPICH; 0: another library
    double memory_bytes = 0;         // of a node, for its ranks
    std::int32_t rails = 1;          // adapters of a node; they share its links' rate evenly
    std::int32_t ranks_per_node = 0; // 0: ranks of a node share one SimGrid host; else each has its own
    MessageCost message;
    bool gap_after_bytes = false; // the gap follows the last byte of a message (LogGP), not its start
    Connections connections;

    Vertex host_count() const { return static_cast<Vertex>(hosts.size()); }

    // The link that leads from `at` towards `destination` (a host), or none.
    std::int32_t next_link(Vertex at, Vertex destination) const {
        if (at < host_count())
            return uplink[static_cast<std::size_t>(at)];
        auto const row = static_cast<std::size_t>(at - host_count());
        return next[row * hosts.size() + static_cast<std::size_t>(destination)];
    }
};

// Throws std::runtime_error: file, line, what was expected, the text seen.
Description read_description(std::filesystem::path const &file);

// Links of the route between two different hosts, first to last; throws std::runtime_error naming the switch and the
// destination if the tables have no entry or a loop.
void walk(Description const &net, Vertex from, Vertex to, std::vector<std::int32_t> &links);

} // namespace weft::simulate
