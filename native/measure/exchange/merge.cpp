// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/merge.hpp"

#include <cstring>
#include <limits>
#include <utility>

namespace weft {

LoserTree::LoserTree(int runs) : runs_(static_cast<std::size_t>(runs)), tree_(static_cast<std::size_t>(runs)) {}

void LoserTree::load(Run &run) {
    if (run.head != run.end) {
        run.key = *run.head;
    } else {
        run.key = std::numeric_limits<double>::infinity();
        run.order += runs_.size();
    }
}

void LoserTree::start(ConstVectors from, std::span<std::uint64_t const> begins) {
    for (std::size_t k = 0; k < runs_.size(); ++k) {
        runs_[k].order = k;
        runs_[k].head = from.data + from.offset(begins[k]);
        runs_[k].end = from.data + from.offset(begins[k + 1]);
        load(runs_[k]);
    }
}

/// Each leaf moves up to the first match without an opponent and is stored there as its loser; the last one wins the
/// tree.
void LoserTree::play_all() {
    auto const leaves = static_cast<std::uint32_t>(runs_.size());
    auto const nobody = leaves;
    for (auto &match : tree_) {
        match = nobody;
    }
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
        auto climber = leaf;
        for (auto match = (leaf + leaves) / 2; match > 0 && climber != nobody; match /= 2) {
            if (tree_[match] == nobody || wins(tree_[match], climber)) {
                std::swap(tree_[match], climber);
            }
        }
        if (climber != nobody) {
            tree_[0] = climber;
        }
    }
}

template <class Copy> void LoserTree::run(std::uint64_t total, std::uint64_t m, Copy &&copy) {
    auto const leaves = static_cast<std::uint32_t>(runs_.size());
    auto winner = tree_[0];
    for (std::uint64_t done = 0; done < total; ++done) {
        auto &run = runs_[winner];
        copy(run.head);
        run.head += m;
        load(run);
        for (auto match = (winner + leaves) / 2; match > 0; match /= 2) {
            if (wins(tree_[match], winner)) {
                std::swap(tree_[match], winner);
            }
        }
    }
}

void LoserTree::merge(ConstVectors from, std::span<std::uint64_t const> begins, Vectors to) {
    start(from, begins);
    play_all();
    auto const total = begins[runs_.size()] - begins[0];
    auto *out = to.data;
    if (from.m == 1) {
        return run(total, 1, [&](double const *vector) { *out++ = *vector; });
    }
    run(total, from.m, [&](double const *vector) {
        std::memcpy(out, vector, from.m * sizeof(double));
        out += from.m;
    });
}

} // namespace weft
