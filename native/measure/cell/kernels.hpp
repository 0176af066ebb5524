// SPDX-License-Identifier: BSD-3-Clause
// The measured patterns. A kernel is one file with two functions, and its lines in kernels.cpp and native/units.cmake.
#pragma once

#include "cell/cell.hpp"
#include "host/memory.hpp"

#include <functional>
#include <span>
#include <string_view>

namespace weft {

struct Kernel {
    std::string_view name;
    /// The memory that this rank will allocate. Not collective; throws Failure for a plan it cannot read, and may throw
    /// Refusal (identically on every rank) for a cell it cannot run.
    Need (*need)(Cell const &);
    /// Collective: allocates, measures with cell.sampler(), proves, calls set_validation or skip_validation.
    /// May throw Refusal on all ranks together.
    void (*run)(Cell &);
    /// Whether the first calls of its sampler are the kernel's first MPI communication. In a launch's first cell they
    /// are then on fresh connections: all earlier agreement uses mpi/agree.hpp.
    bool begins_with_first_calls = false;
    /// What ranks that a cell names `beside`, which do not measure it, do meanwhile: the function that this returns is
    /// called until the cell is over, and returns whether it had work. Collective over them.
    std::function<bool()> (*beside)(Cell &) = nullptr;
    /// The memory that each of those will allocate, as `need`.
    Need (*need_beside)(Cell const &) = nullptr;
};

std::span<Kernel const> kernels();
/// Throws Failure with the available names if there is none of this name.
Kernel const &kernel_named(std::string_view name);

Need floor_need(Cell const &cell);
void run_floor(Cell &cell);
/// Collective: what the bounds of a cell of another kernel rest on, in its own launch (METHOD 16): a few small
/// messages, and copies of the sizes that its plan names. Its operations are `floor:latency`, `floor:swap` and
/// `floor:copy-...`.
void measure_floor_beside(Cell &cell);

Need exchange_need(Cell const &cell);
void run_exchange(Cell &cell);

Need collective_need(Cell const &cell);
void run_collective(Cell &cell);

Need bandwidth_need(Cell const &cell);
void run_bandwidth(Cell &cell);

Need pairs_need(Cell const &cell);
void run_pairs(Cell &cell);

Need probe_need(Cell const &cell);
void run_probe(Cell &cell);

Need replay_need(Cell const &cell);
void run_replay(Cell &cell);

Need interference_need(Cell const &cell);
Need interference_need_beside(Cell const &cell);
void run_interference(Cell &cell);
std::function<bool()> interfere(Cell &cell);

} // namespace weft
