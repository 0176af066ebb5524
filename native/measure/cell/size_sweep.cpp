// SPDX-License-Identifier: BSD-3-Clause
#include "cell/size_sweep.hpp"

#include "record/hash.hpp"

#include <algorithm>

namespace weft {

namespace {

/// Median time in seconds of one operation at a size, on rank 0; 0 on other ranks, and without samples.
double seconds_at(Recorder const &recorder, std::string const &op) {
    for (Segment const &segment : recorder.segments()) {
        if (segment.op == op && segment.phase == Phase::warm && segment.count > 0) {
            return double(segment.median_ns) / double(segment.batch) / 1e9;
        }
    }
    return 0;
}

/// On rank 0: the next size, or 0 if there is none.
std::int64_t chosen_size(Cell const &cell, std::string const &name, std::vector<std::int64_t> sizes,
                         RefineRules const &rules) {
    std::sort(sizes.begin(), sizes.end());
    std::vector<SizePoint> sweep;
    for (std::int64_t const bytes : sizes) {
        sweep.push_back({bytes, seconds_at(cell.sampler().recorder(), op_at(name, bytes))});
    }
    return next_size(sweep, rules).value_or(0);
}

std::int64_t refinement(Cell const &cell) {
    return cell.integer("refine", 0);
}

} // namespace

std::vector<std::int64_t> sizes_of(Cell const &cell) {
    std::vector<std::int64_t> sizes;
    for (std::string const &word : cell.words("bytes")) {
        std::int64_t const bytes = to_integer(word, "bytes");
        if (bytes < 0 || (!sizes.empty() && bytes <= sizes.back())) {
            throw Failure("cell " + cell.name() + ": bytes " + word + (bytes < 0 ? " is negative" : " does not ascend"),
                          "give sizes from small to large, each once", true);
        }
        sizes.push_back(bytes);
    }
    if (sizes.empty()) {
        throw Failure("cell " + cell.name() + " has no bytes", "give the study at least one size", true);
    }
    return sizes;
}

std::string op_at(std::string const &name, std::int64_t bytes) {
    return name + "@" + std::to_string(bytes);
}

std::vector<std::int64_t> shuffled(Cell const &cell, std::vector<std::int64_t> sizes) {
    std::uint64_t state = mix(cell.seed() + static_cast<std::uint64_t>(cell.launch_index()));
    for (char const letter : cell.name()) {
        state = mix(state ^ static_cast<unsigned char>(letter));
    }
    for (std::size_t left = sizes.size(); left > 1; --left) {
        state = mix(state);
        std::swap(sizes[left - 1], sizes[state % left]); // the bias of % is below 2^-50 here
    }
    return sizes;
}

std::int64_t most_sizes(Cell const &cell) {
    return std::int64_t(sizes_of(cell).size()) + refinement(cell);
}

void sweep_sizes(Cell const &cell, std::string const &name, std::int64_t multiple,
                 std::function<void(std::int64_t bytes)> const &measure) {
    std::vector<std::int64_t> sizes = sizes_of(cell);
    for (std::int64_t const bytes : shuffled(cell, sizes)) {
        measure(bytes);
    }
    RefineRules rules;
    rules.most = refinement(cell);
    rules.multiple = multiple;
    for (std::int64_t added = 0; added < rules.most; ++added) {
        std::int64_t next = cell.team().rank == 0 ? chosen_size(cell, name, sizes, rules) : 0;
        check(PMPI_Bcast(&next, 1, MPI_INT64_T, 0, cell.team().comm), "MPI_Bcast of the next size");
        if (next == 0) {
            return;
        }
        measure(next);
        sizes.push_back(next);
    }
}

} // namespace weft
