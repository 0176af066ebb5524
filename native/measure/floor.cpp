// SPDX-License-Identifier: BSD-3-Clause
// The noise floor and the memory-copy rate: what every measurement on this fabric stands on (METHOD 21).
#include "buffer.hpp"
#include "kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace weft {

namespace {

constexpr std::array<std::int64_t, 4> copy_bytes{16'384, 262'144, 4'194'304, 67'108'864};
constexpr std::int64_t most_bytes = copy_bytes.back();

/// Two clock reads after the start, and nothing between them.
void measure_empty(Cell &cell) {
    cell.sampler().warm("empty", [] {}, {.batch = false});
}

/// 8 bytes there and back between the first rank and the last; one way is half of that (METHOD 25).
void measure_latency(Cell &cell) {
    Team const &team = cell.team();
    int const last = team.size - 1;
    std::int64_t word = team.rank + 1;
    auto const ping_pong = [&] {
        if (team.rank == 0) {
            MPI_Send(&word, 1, MPI_INT64_T, last, 0, team.comm);
            MPI_Recv(&word, 1, MPI_INT64_T, last, 0, team.comm, MPI_STATUS_IGNORE);
        } else if (team.rank == last) {
            MPI_Recv(&word, 1, MPI_INT64_T, 0, 0, team.comm, MPI_STATUS_IGNORE);
            MPI_Send(&word, 1, MPI_INT64_T, 0, 0, team.comm);
        }
    };
    cell.sampler().cold("latency", ping_pong, {.operations = 2});
    cell.sampler().warm("latency", ping_pong, {.operations = 2});
}

/// All ranks of a node copy at once: its memory is what they share.
void measure_copies(Cell &cell) {
    Buffer const from = Buffer::make(cell.team(), most_bytes, "copy from");
    Buffer const to = Buffer::make(cell.team(), most_bytes, "copy to");
    if (to.real()) {
        std::memset(to.data(), 0, to.bytes()); // both were first filled with the same words
    }
    for (std::int64_t const bytes : copy_bytes) {
        cell.sampler().warm("copy-" + std::to_string(bytes), [&] {
            std::memcpy(to.data(), from.data(), std::size_t(bytes));
            asm volatile("" : : "r"(to.data()) : "memory"); // the copy is wanted, though nobody reads it
        });
    }
    if (!to.real()) {
        cell.skip_validation("the platform keeps no content in its buffers");
        return;
    }
    auto const [copied, original] = std::mismatch(to.data(), to.data() + most_bytes, from.data());
    bool const same = copied == to.data() + most_bytes;
    cell.set_validation(same ? 0 : 1, same ? "every copied byte is right"
                                           : "rank " + std::to_string(cell.team().rank) + ": byte " +
                                                 std::to_string(copied - to.data()) + " was not copied");
}

} // namespace

Need floor_need(Cell const &cell) {
    constexpr std::int64_t operations = 2 + std::int64_t(copy_bytes.size());
    return {
        {{"copy from", most_bytes}, {"copy to", most_bytes}, {"samples", Recorder::bytes(operations, cell.rules())}}};
}

void run_floor(Cell &cell) {
    measure_empty(cell);
    if (cell.team().size > 1) {
        measure_latency(cell);
    }
    measure_copies(cell);
}

} // namespace weft
