// SPDX-License-Identifier: BSD-3-Clause
// The arrays of one collective on one rank: allocation for the largest block of a sweep, contents, and proof (METHOD
// 12).
#pragma once

#include "breakdown/peer_blocks.hpp"
#include "cell/flaws.hpp"
#include "collective/block_pattern.hpp"
#include "collective/collective_calls.hpp"
#include "collective/mock_ups.hpp"
#include "host/buffer.hpp"
#include "host/memory.hpp"
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
    bool spread = false;                   ///< every other 8 bytes, by a derived datatype
    std::optional<int> root;               ///< a fixed root; nothing: rotates from call to call
    BlockPattern const *pattern = nullptr; ///< of unequal blocks
    bool mocked = false;            ///< also by mock-ups (mock_ups.hpp): plain, with a fixed root and equal blocks
    bool wide = false;              ///< counts of 64 bits even where ints would do: a test's
    AllToAll algorithm;             ///< of an all-to-all
    MPI_Comm graph = MPI_COMM_NULL; ///< of the neighbourhood form, in place of the team's communicator

    /// Sizes are whole multiples of this number of bytes.
    [[nodiscard]] std::int64_t unit() const { return collective->reduces || spread ? 8 : 1; }
};

class CollectiveData {
  public:
    /// Collective; `most_bytes` is the largest block to come. Throws Refusal `memory` on all ranks together.
    CollectiveData(Team const &team, CollectiveForm const &form, std::int64_t most_bytes);

    static void add_need(Need &need, Team const &team, CollectiveForm const &form, std::int64_t most_bytes);
    /// True if blocks of `bytes` bytes have counts or displacements that do not fit into an int.
    [[nodiscard]] static bool needs_wide(Team const &team, CollectiveForm const &form, std::int64_t bytes);
    /// The reason why this MPI cannot have blocks of `bytes` bytes; empty if it can: before MPI 4 all counts are ints.
    static std::string refusal(Team const &team, CollectiveForm const &form, std::int64_t bytes,
                               int mpi_version = MPI_VERSION);

    /// Sets the block size of the next calls.
    void set_block(std::int64_t bytes);
    /// Makes the measured call, and with a rotating root chooses the next one.
    void call() {
        call_(arguments_);
        if (rotating_) {
            turn_ = (turn_ + 1) % turns_;
            arguments_.root = int(turn_ * team_.size / turns_);
        }
    }
    /// Of the next call, with counts of ints.
    [[nodiscard]] CallArguments const &arguments() const { return arguments_; }
    /// Makes the same call by a mock-up.
    void call_by(MockUp const &mock_up) { mock_up.call(arguments_); }
    /// Starts with the fixed root, or with the first of `turns` rotating roots, evenly spaced over all ranks.
    void begin_roots(std::int64_t turns) {
        turns_ = turns;
        turn_ = 0;
        arguments_.root = form_.root.value_or(0);
    }

    /// The blocks of the all-to-all with the present block size.
    [[nodiscard]] PeerBlocks blocks() const;

    /// False in a simulator that folds large buffers.
    [[nodiscard]] bool real() const { return send_.real() && receive_.real(); }
    /// Fills the data of the timed calls: numbers whose sums stay finite for any number of calls.
    void settle();
    /// Collective: one call with known contents, whose result is checked word by word. `disturb` may change received
    /// data before the check. `mock_up`: of that call in place of the collective's own.
    Flaws prove(int root, std::function<void(std::span<std::byte>)> const &disturb, MockUp const *mock_up = nullptr);
    /// Bytes of the buffer in which mock-ups keep what a call has no buffer for: all blocks, and a padded message.
    static std::int64_t scratch_bytes(Team const &team, std::int64_t most_bytes) {
        return (team.size + 2) * most_bytes + 2 * team.size * std::int64_t(sizeof(double));
    }

  private:
    struct Span {
        int from;           // sender
        int to;             // receiver
        std::int64_t begin; // in payload bytes from the array's begin
        std::int64_t bytes; // of payload
    };
    [[nodiscard]] std::vector<Span> contributed() const; // what this rank sends, in `source()`
    [[nodiscard]] std::vector<Span> expected() const;    // what it must receive, in `receive_`
    [[nodiscard]] std::vector<Span> blocks_of(bool received) const;
    [[nodiscard]] Buffer const &source() const;
    [[nodiscard]] std::byte *at(Buffer const &buffer, std::int64_t payload) const;
    [[nodiscard]] std::uint64_t content(Span const &span, std::int64_t word) const;
    [[nodiscard]] std::uint64_t result(Span const &span, std::int64_t word) const;
    [[nodiscard]] bool takes_part_in_place() const;
    template <class Arrays> void set_arrays(Arrays &arrays) const;
    void check_span(Span const &span, Flaws &flaws) const;

    Team const &team_;
    CollectiveForm form_;
    bool rotating_;
    Datatype spread_type_;
    Buffer send_;
    Buffer receive_;
    Buffer scratch_;
    MockUpRoom room_;
    CallArguments arguments_;
    void (*call_)(CallArguments const &) = nullptr; // with counts of 32 or 64 bits
    bool wide_ = false;                             // the present blocks need 64
    std::int64_t bytes_ = 0;                        // of the block
    std::int64_t turn_ = 0;                         // of the present root
    std::int64_t turns_ = 1;
};

} // namespace weft
