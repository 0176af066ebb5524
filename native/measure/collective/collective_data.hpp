// SPDX-License-Identifier: BSD-3-Clause
// The arrays of one collective on one rank: sized for the largest block of a sweep, filled, and proven (METHOD 12).
#pragma once

#include "cell/flaws.hpp"
#include "collective/block_pattern.hpp"
#include "collective/collective_calls.hpp"
#include "host/buffer.hpp"
#include "host/memory.hpp"
#include "ladder/peer_blocks.hpp"
#include "mpi/handles.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace weft {

/// How a collective is called.
struct CollectiveForm {
    Collective const *collective = nullptr;
    bool in_place = false;
    bool spread = false;                   ///< every other 8 bytes of memory, by a derived datatype
    std::optional<int> root;               ///< a fixed one; nothing: each call has the next rank as its root
    BlockPattern const *pattern = nullptr; ///< of unequal blocks

    /// Sizes are whole multiples of so many bytes.
    [[nodiscard]] std::int64_t unit() const { return collective->reduces || spread ? 8 : 1; }
};

class CollectiveData {
  public:
    /// Collective; `most_bytes` is the largest block to come. Throws Refusal `memory` on all ranks together.
    CollectiveData(Team const &team, CollectiveForm const &form, std::int64_t most_bytes);

    static void add_need(Need &need, Team const &team, CollectiveForm const &form, std::int64_t most_bytes);
    /// Why an MPI-3 call cannot have blocks of so many bytes; empty when it can. Counts and places are ints there.
    static std::string refusal(Team const &team, CollectiveForm const &form, std::int64_t bytes);

    /// Makes the next calls ones of blocks of so many bytes.
    void set_block(std::int64_t bytes);
    /// The measured call, and in a rotating form the choice of the next root.
    void call() {
        form_.collective->call(arguments_);
        if (rotating_) {
            turn_ = (turn_ + 1) % turns_;
            arguments_.root = int(turn_ * team_.size / turns_);
        }
    }
    /// Begins with the fixed root or with the first of those that take turns: `turns` of all ranks, evenly spread.
    void begin_roots(std::int64_t turns) {
        turns_ = turns;
        turn_ = 0;
        arguments_.root = form_.root.value_or(0);
    }

    /// The blocks of the all-to-all as it is set.
    [[nodiscard]] PeerBlocks blocks() const;

    /// False in a simulator that folds large buffers.
    [[nodiscard]] bool real() const { return send_.real() && receive_.real(); }
    /// What the timed calls work on: defined numbers, of which sums stay finite however often a call is made.
    void settle();
    /// Collective: one call from known contents, whose result is checked word by word. `disturb` may spoil what was
    /// received before it is looked at.
    Flaws prove(int root, std::function<void(std::span<std::byte>)> const &disturb);

  private:
    struct Span {
        int from;           // whose block it is
        int to;             // for whom
        std::int64_t begin; // in payload bytes from the array's begin
        std::int64_t bytes; // of payload
    };
    [[nodiscard]] std::vector<Span> contributed() const; // what this rank brings, in `source()`
    [[nodiscard]] std::vector<Span> expected() const;    // what it must find in `receive_`
    [[nodiscard]] std::vector<Span> blocks_of(bool received) const;
    [[nodiscard]] Buffer const &source() const;
    [[nodiscard]] std::byte *at(Buffer const &buffer, std::int64_t payload) const;
    [[nodiscard]] std::uint64_t content(Span const &span, std::int64_t word) const;
    [[nodiscard]] std::uint64_t result(Span const &span, std::int64_t word) const;
    [[nodiscard]] bool takes_part_in_place() const;
    void check_span(Span const &span, Flaws &flaws) const;

    Team const &team_;
    CollectiveForm form_;
    bool rotating_;
    Datatype spread_type_;
    Buffer send_;
    Buffer receive_;
    CallArguments arguments_;
    std::int64_t bytes_ = 0; // of the block
    std::int64_t turn_ = 0;  // of the present root
    std::int64_t turns_ = 1;
};

} // namespace weft
