// SPDX-License-Identifier: BSD-3-Clause
// The noise floor and the memory-copy rate: the reference of every measurement on this fabric (METHOD 16, 21).
//
//   copies   bytes that every rank copies at once, ascending: those that the cells of the plan keep in a node
#include "cell/flaws.hpp"
#include "cell/kernels.hpp"
#include "host/buffer.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <vector>

namespace weft {

namespace {

/// Default sizes.
constexpr char const *usual_copies = "16384 262144 4194304 67108864";

std::vector<std::int64_t> copies_of(Cell const &cell) {
    std::istringstream words(cell.text("copies", usual_copies));
    std::vector<std::int64_t> copies;
    std::string word;
    while (words >> word) {
        std::int64_t const bytes = to_integer(word, "copies");
        if (bytes < 1 || (!copies.empty() && bytes <= copies.back())) {
            throw Failure("cell " + cell.name() + ": copies " + word + " is under 1, or does not ascend",
                          "plan files are written by `weft plan` and `weft run`; start the study again", true);
        }
        copies.push_back(bytes);
    }
    if (copies.empty()) {
        throw Failure("cell " + cell.name() + ": copies names no size", "start the study again", true);
    }
    return copies;
}

/// Two clock reads after the start barrier, with nothing between them.
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
    cell.sampler().cold("latency", ping_pong, {.operations = 2, .of_one_rank = true});
    cell.sampler().warm("latency", ping_pong, {.operations = 2, .of_one_rank = true});
}

/// One size: both buffers have exactly that size, so that the working set is that of the plan's cells. All ranks of a
/// node copy at once, since they share its memory.
Flaws measure_copy(Cell &cell, std::int64_t bytes) {
    Buffer const from = Buffer::make(cell.team(), std::size_t(bytes), "copy from");
    Buffer const to = Buffer::make(cell.team(), std::size_t(bytes), "copy to");
    auto const copy = [&] {
        std::memcpy(to.data(), from.data(), std::size_t(bytes));
        asm volatile("" : : "r"(to.data()) : "memory"); // keeps the compiler from removing the copy
    };
    cell.sampler().warm("copy-" + std::to_string(bytes), copy, {.of_one_rank = true});
    Flaws flaws;
    if (!from.real() || !to.real()) {
        return flaws;
    }
    std::memset(to.data(), 0, to.bytes()); // both were first filled with the same words
    copy();
    if (planted(cell, "corrupt") && cell.team().rank == cell.team().size - 1) {
        to.data()[bytes / 2] ^= std::byte{1};
    }
    auto const [copied, original] = std::mismatch(to.data(), to.data() + bytes, from.data());
    if (copied != to.data() + bytes) {
        flaws.add([&, at = copied - to.data()] {
            return "rank " + std::to_string(cell.team().rank) + ": byte " + std::to_string(at) + " of " +
                   std::to_string(bytes) + " was not copied";
        });
    }
    return flaws;
}

void measure_copies(Cell &cell) {
    Flaws flaws;
    for (std::int64_t const bytes : copies_of(cell)) {
        flaws.join(measure_copy(cell, bytes));
    }
    if (platform::one_clock()) {
        return cell.skip_validation("the simulator folds large buffers: they have no contents to prove");
    }
    cell.set_validation(std::int64_t(flaws.count), flaws.count > 0 ? flaws.first : "every copied byte is right");
}

} // namespace

Need floor_need(Cell const &cell) {
    std::vector<std::int64_t> const copies = copies_of(cell);
    std::int64_t const operations = 2 + std::int64_t(copies.size());
    return {{{"copy from", copies.back()},
             {"copy to", copies.back()},
             {"samples", Recorder::bytes(operations, cell.rules())}}};
}

void run_floor(Cell &cell) {
    measure_empty(cell);
    if (cell.team().size > 1) {
        measure_latency(cell);
    }
    measure_copies(cell);
}

} // namespace weft
