// SPDX-License-Identifier: BSD-3-Clause
// A rank's trace as bytes: docs/dev/trace-format.md. src/weft/store/trace/layout.py has the same in Python.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::trace {

enum State : std::uint32_t { closed = 1, limited = 2, stopped = 4, shared_clock = 8, clock_closed = 16, summed = 32 };

struct Head {
    char magic[8] = {'W', 'E', 'F', 'T', 'T', 'R', 'C', 0};
    std::uint32_t version = 1;
    std::uint32_t head_bytes = 512;
    std::uint32_t record_bytes = 64;
    std::uint32_t state = 0;
    std::int32_t rank = 0;
    std::int32_t ranks = 1;
    std::int32_t node = 0;
    std::int32_t local_rank = 0;
    std::int64_t opened_ns = 0;
    std::int64_t closed_ns = 0;
    std::int64_t line_local_ns = 0;
    std::int64_t line_ns = 0;
    double line_drift = 0;
    std::int64_t residual_ns = 0;
    std::int64_t uncertainty_ns = 0;
    std::uint64_t events = 0;
    std::uint64_t records = 0;
    std::int64_t most_bytes = 0;
    double cost_ns = 0;
    std::int64_t pid = 0;
    std::int64_t unused = 0;
    char host[64] = {};
    char library[128] = {};
    std::int64_t looked_ns = 0;
    std::int64_t lost_ns = 0;
    std::int64_t own_ns = 0;
    std::int64_t busy_ns = 0;
    std::int64_t steal_ns = 0;
    double load = 0;
    std::int32_t host_cpus = 0;
    std::uint32_t crc = 0; // of the whole file with a zero here, once `summed`
    char cpus[120] = {};
};
static_assert(sizeof(Head) == 512 && offsetof(Head, host) == 144 && offsetof(Head, library) == 208);
static_assert(offsetof(Head, looked_ns) == 336 && offsetof(Head, crc) == 388 && offsetof(Head, cpus) == 392);

enum Flag : std::uint16_t {
    summary = 1,
    any_source = 2,
    any_tag = 4,
    persistent = 8,
    unfinished = 16,
    receive = 32,
    between_groups = 64,
    cancelled = 128,
    failed = 256,
    in_place = 512,
};

struct Record {
    std::uint16_t call = 0;
    std::uint16_t flags = 0;
    std::uint32_t site = 0;
    std::uint32_t comm = 0;
    std::int32_t peer = -1;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t bytes = 0;
    std::int64_t received = 0;
    std::uint64_t request = 0;
    std::int32_t tag = 0;
    std::uint32_t thread = 0;
};
static_assert(sizeof(Record) == 64 && offsetof(Record, begin_ns) == 16 && offsetof(Record, tag) == 56);

constexpr std::size_t payload_bytes = sizeof(Record) - offsetof(Record, begin_ns);
constexpr std::int32_t no_peer = -1;
constexpr std::int32_t proc_null = -3;

/// Records that are no calls.
constexpr std::uint16_t completion = 1, counts = 2, members = 3, site_text = 4, communicator = 5, targets = 6;
constexpr std::uint32_t world_id = 1, self_id = 2;

/// Numbers of the calls.
enum class Call : std::uint16_t {
#define WEFT_CALL(number, name, lower, upper, arity, buffers, family) name = number,
#define WEFT_PARTITIONED(number, name, arity, family) name = number,
#define WEFT_LARGE(large, name, arity, family)
#include "calls.inc"
#undef WEFT_LARGE
#undef WEFT_PARTITIONED
#undef WEFT_CALL
};

} // namespace weft::trace
