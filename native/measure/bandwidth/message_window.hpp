// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cell/flaws.hpp"
#include "host/buffer.hpp"
#include "mpi/team.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct WindowLimits {
    std::int64_t most_messages; ///< in flight, of one flow
    std::int64_t most_bytes;    ///< of all flows of one rank together; at least one message of each is in flight
    std::int64_t footprint;     ///< bytes on either side; no message is larger
    bool shared = false;        ///< all messages in one place, as in the OSU benchmarks: MPI leaves its contents open

    /// Distance between messages: each has its own cache lines.
    [[nodiscard]] static std::int64_t stride(std::int64_t bytes);
    /// Number of places for messages of a size.
    [[nodiscard]] std::int64_t places(std::int64_t bytes) const;
    /// Messages of each flow, where one rank has so many.
    [[nodiscard]] std::int64_t messages(std::int64_t bytes, int flows = 1) const;
};

enum class Transfer { send, put, get };
/// Throws std::out_of_range for a name that is none.
Transfer transfer_named(std::string_view name);

/// Where the messages of one rank go to or come from.
struct Flow {
    int peer;
    std::int64_t at_peer;    ///< index of this flow among those of the peer
    std::int64_t peer_flows; ///< their number
};

/// Which ranks of a team send to which. Pairs: the first half to the second, rank by rank; a fan: all to rank 0
/// (`in`), or rank 0 to all (`out`).
struct Flows {
    enum class Shape { pairs, in, out };
    static Flows of(int rank, int ranks, Shape shape, bool both_ways);

    std::vector<Flow> to;
    std::vector<Flow> from;
    int most;           ///< of one rank, in one direction
    std::int64_t total; ///< of all ranks
};

/// Memory of one side of a stream: a buffer, or what a window of one-sided calls exposes.
class Places {
  public:
    /// Collective.
    Places(Team const &team, std::int64_t bytes, std::string const &name, bool exposed);
    Places(Places const &) = delete;
    Places &operator=(Places const &) = delete;
    ~Places();

    [[nodiscard]] std::byte *data() const { return data_; }
    [[nodiscard]] bool real() const { return buffer_.real(); }
    [[nodiscard]] MPI_Win exposed() const { return win_; }

  private:
    Buffer buffer_;
    MPI_Win win_ = MPI_WIN_NULL;
    std::byte *data_;
};

/// One window of messages of each flow. Every message in flight has its own place, as receives require, and each
/// window continues where the last one ended: over a sample all sizes touch the same footprint. If each window started
/// at the same place, it would touch 64 times the message size, and the rate would depend on the caches.
class MessageWindow {
  public:
    /// Collective.
    MessageWindow(Team const &team, WindowLimits const &limits, Flows flows, Transfer transfer = Transfer::send);

    void set_size(std::int64_t bytes);
    /// Of one flow.
    [[nodiscard]] std::int64_t messages() const { return messages_; }
    /// Of all flows of all ranks.
    [[nodiscard]] std::int64_t operations() const { return messages_ * flows_.total; }
    [[nodiscard]] bool real() const { return send_.real() && receive_.real(); }

    /// Moves a window of each flow, and lets the passive side know: a receiver its sender, of puts the sender its
    /// target.
    void move_window();

    /// Collective: prepares the next window. Each message has unique words, so that two exchanged messages are
    /// detected; receive places are cleared.
    void fill();
    /// Checks the last window.
    [[nodiscard]] Flaws check_received() const;
    /// The test hook WEFT_PLANT=corrupt: one bit of what the lowest rank that receives received.
    void corrupt(std::int64_t message, std::int64_t byte);

  private:
    /// Index of the place of a message of a window: flow `flow` of `flows`.
    [[nodiscard]] std::int64_t index(std::int64_t window, std::size_t flow, std::size_t flows, std::int64_t k) const {
        std::int64_t const number = (window * std::int64_t(flows) + std::int64_t(flow)) * messages_ + k;
        return limits_.shared ? 0 : number % limits_.places(bytes_);
    }
    [[nodiscard]] std::byte *place(Places const &in, std::int64_t index) const {
        return in.data() + index * WindowLimits::stride(bytes_);
    }
    void move_messages();
    void access_memory();
    void tell(std::vector<Flow> const &active, std::vector<Flow> const &passive);

    Team const &team_;
    Flows flows_;
    Transfer transfer_;
    WindowLimits limits_;
    Places send_;
    Places receive_;
    std::vector<MPI_Request> requests_;
    std::int64_t bytes_ = 0;
    std::int64_t messages_ = 0;
    std::int64_t window_ = 0; // number of the next window
};

} // namespace weft
