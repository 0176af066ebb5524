// SPDX-License-Identifier: BSD-3-Clause
// The script of a replay: what each rank of a traced application did, as src/weft/trace/rank_actions.py writes it
// (docs/dev/trace-format.md). Every number of a file is checked before it is used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

enum class Act : std::uint16_t {
    compute, ///< value: ns
    send,
    receive,
    isend,    ///< value: request slot
    ireceive, ///< value: request slot
    wait,     ///< value: request slot
    barrier,
    bcast,
    reduce,
    allreduce,
    gather,  ///< value: index of the counts at the root, or -1: equal parts
    scatter, ///< likewise
    allgather,
    alltoall,
    alltoallv,      ///< value: index of p counts to send, then p to receive
    reduce_scatter, ///< value: index of p counts, or -1: equal parts
    scan,
    exscan,
    last = exscan
};

/// One step of a rank; 48 bytes, as in the file. `peer` (or root) is a rank of the communicator.
struct Action {
    Act act;
    std::uint16_t unused;
    std::int32_t comm; ///< -1: this rank alone; 0: all ranks; k: this rank's communicator of layer k
    std::int32_t peer;
    std::int32_t tag;
    std::int64_t bytes;    ///< that this rank gives: a message, a whole vector, or one block of equal ones
    std::int64_t received; ///< that it gets, likewise
    std::int64_t value;
    std::int64_t offset; ///< into the receive buffer
};
static_assert(sizeof(Action) == 48);

/// One rank's part of a script.
struct Script {
    /// A split of all ranks into communicators: this rank's colour (-1: in none of them) and its key.
    struct Layer {
        std::int32_t color;
        std::int32_t key;
    };

    int ranks = 0;
    std::int64_t send_bytes = 0;    ///< most that any rank needs
    std::int64_t receive_bytes = 0; ///< likewise
    std::int64_t script_bytes = 0;  ///< of the longest part of a rank
    std::int64_t slots = 0;         ///< requests of this rank
    std::vector<Layer> layers;
    std::vector<Action> actions;
    std::vector<std::int64_t> counts;
};

/// Reads the sizes of a script, without actions. Throws Failure for a file that is no script of `ranks` ranks.
Script read_sizes(std::string const &path, int ranks);
/// Reads the part of `rank` as well. Throws Failure as above.
Script read_script(std::string const &path, int ranks, int rank);
/// Why an action of this rank cannot be, with its number: each must fit its communicator (`sizes[k]` ranks, 0: none of
/// this rank's), the buffers, the request slots and the counts. Nothing if all do.
std::optional<std::string> wrong_action(Script const &script, std::vector<int> const &sizes, std::string const &path);

} // namespace weft
