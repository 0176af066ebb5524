// SPDX-License-Identifier: BSD-3-Clause
// The noise floor and the memory-copy rate: the reference of every measurement on this fabric (METHOD 16, 21).
//
//   copies   bytes that every rank copies at once, ascending: those that the cells of the plan keep in a node
#include "cell/flaws.hpp"
#include "cell/kernels.hpp"
#include "floor/copy_way.hpp"
#include "host/buffer.hpp"

#include <algorithm>
#include <functional>
#include <span>
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
/// `prefix` of the operations' names, and how often: the stop rule decides if 0.
void measure_latency(Cell &cell, std::string const &prefix = "", std::int64_t exactly = 0) {
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
    if (prefix.empty()) {
        cell.sampler().cold("latency", ping_pong, {.operations = 2, .of_one_rank = true});
    }
    cell.sampler().warm(prefix + "latency", ping_pong, {.operations = 2, .exactly = exactly, .of_one_rank = true});

    // Two messages that cross: a rank that has just sent finds the other's there, where a ping-pong waits a whole round
    // trip and may yield its core. No exchange is faster, so bounds take the better of the two.
    int const other = team.rank == 0 ? last : 0;
    auto const swap = [&] {
        if (team.rank == 0 || team.rank == last) {
            std::int64_t theirs = 0;
            MPI_Sendrecv(&word, 1, MPI_INT64_T, other, 0, &theirs, 1, MPI_INT64_T, other, 0, team.comm,
                         MPI_STATUS_IGNORE);
        }
    };
    cell.sampler().warm(prefix + "swap", swap, {.exactly = exactly, .of_one_rank = true});
}

/// Collective: the way by which the slowest rank copies fastest.
CopyWay fastest_way(Cell &cell, std::span<CopyWay const> ways, int tries,
                    std::function<void(CopyWay const &)> const &copy) {
    auto const once_ns = [&](CopyWay const &way) {
        cell.sampler().start().wait();
        auto const begin = cell.sampler().clock().now();
        copy(way);
        return cell.sampler().clock().now() - begin;
    };
    return fastest_of(ways, tries, once_ns, [&](std::int64_t mine) { return max_over(cell.team(), mine); });
}

/// How long a copy is sampled at least. Bounds take the shortest time, which goes on falling where the median stands
/// still: a copy of 30 us was precise after 25 samples, beside 1000 of the cell that its bound was for. A simulated
/// copy always takes the same time.
std::int64_t for_the_minimum_ns() {
    return platform::one_clock() ? 0 : 30'000'000;
}

/// One size: both buffers have exactly that size, so that the working set is that of the plan's cells. All ranks of a
/// node copy at once, since they share its memory, in the fastest way; every way is proved.
Flaws measure_copy(Cell &cell, std::int64_t bytes, std::string const &prefix = "", std::int64_t exactly = 0) {
    Buffer const from = Buffer::make(cell.team(), std::size_t(bytes), "copy from");
    Buffer const to = Buffer::make(cell.team(), std::size_t(bytes), "copy to");
    std::vector<CopyWay> const ways = copy_ways(std::size_t(bytes));
    auto const copy = [&](CopyWay const &way) { // the one that is proved below
        way.copy(to.data(), from.data(), to.bytes());
        asm volatile("" : : "r"(to.data()) : "memory"); // keeps the compiler from removing the copy
    };
    CopyWay const fastest = fastest_way(cell, ways, copy_tries(to.bytes()), copy);
    cell.sampler().warm(prefix + "copy-" + std::to_string(bytes) + fastest.suffix(), [&] { copy(fastest); },
                        {.exactly = exactly, .of_one_rank = true, .least_ns = for_the_minimum_ns()});
    Flaws flaws;
    if (exactly > 0 || !from.real() || !to.real()) {
        return flaws;
    }
    std::span const target(to.data(), std::size_t(bytes));
    bool const spoiled = planted(cell, "corrupt") && cell.team().rank == cell.team().size - 1;
    std::string const who = "rank " + std::to_string(cell.team().rank);
    for (CopyWay const &way : ways) {
        flaws.join(prove_copy([&](auto...) { copy(way); }, target, std::span(from.data(), std::size_t(bytes)), who,
                              [&] {
                                  if (spoiled) {
                                      target[std::size_t(bytes / 2)] ^= std::byte{1};
                                  }
                              }));
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

void measure_floor_beside(Cell &cell) {
    constexpr std::int64_t latencies = 20;
    std::string const prefix = "floor:";
    if (cell.team().size > 1) {
        measure_latency(cell, prefix, latencies);
    }
    for (std::int64_t const bytes : copies_of(cell)) {
        measure_copy(cell, bytes, prefix, copy_tries(std::size_t(bytes)));
    }
}

void run_floor(Cell &cell) {
    measure_empty(cell);
    if (cell.team().size > 1) {
        measure_latency(cell);
    }
    measure_copies(cell);
}

} // namespace weft
