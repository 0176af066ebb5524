// SPDX-License-Identifier: BSD-3-Clause
// What the tracer costs: calls of each family, which do nothing.
#include "traced.hpp"

#include <array>
#include <chrono>

namespace weft::trace {

namespace {

constexpr int calls_a_turn = 7, records_a_turn = 10; // three completions among them

void one_turn() {
    int nothing = 0, out = 0;
    MPI_Request requests[3];
    MPI_Status statuses[3]{};
    void const *const from = &nothing;
    void const *const buffer = nullptr;
    void *const result = &out;
    MPI_Request *const first = requests, *const others = requests + 1;
    MPI_Status *const status = statuses;
    auto const nop = [](auto...) { return MPI_SUCCESS; };
    traced<Send, C>(Call::Send, from, nop, buffer, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    traced<AllReduce, C>(Call::Allreduce, from, nop, buffer, result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (MPI_Request &each : requests) {
        auto const isend = [&](auto...) { // any handle that is not null: nobody looks at it
            std::memset(&each, int(0x50 + (&each - requests)), sizeof each);
            return MPI_SUCCESS;
        };
        traced<Started<Send>, C>(Call::Isend, from, isend, buffer, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &each);
    }
    traced<Wait, C>(Call::Wait, from, nop, first, status);
    traced<WaitAll, C>(Call::Waitall, from, nop, 2, others, status);
}

double ns_since(std::chrono::steady_clock::time_point began) {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count();
}

} // namespace

// The median of short rounds: ranks may share cores, and what others took of a round is no cost of the tracer. Records
// are written as the application's are, into pages of a file that nobody has touched; each has its share of the room
// that the file reserves, which on some file systems takes longer than the writing.
double measured_cost() {
    constexpr int rounds = 31, turns = 50;
    static_assert(rounds * turns * records_a_turn < window_records / 2);
    File practice;
    auto const opened = std::chrono::steady_clock::now();
    if (!practice.open_beside(tracer().file()).empty()) {
        return 0;
    }
    double const reserving_ns = ns_since(opened) / window_records;
    std::array<double, rounds> took_ns{};
    File &real = tracer().write_to(practice);
    for (double &each : took_ns) {
        auto const began = std::chrono::steady_clock::now();
        for (int i = 0; i < turns; ++i) {
            one_turn();
        }
        each = ns_since(began) / turns;
    }
    tracer().write_to(real);
    practice.discard();
    std::nth_element(took_ns.begin(), took_ns.begin() + rounds / 2, took_ns.end());
    return (took_ns[rounds / 2] + records_a_turn * reserving_ns) / calls_a_turn;
}

} // namespace weft::trace
