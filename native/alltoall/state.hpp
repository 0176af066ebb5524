// SPDX-License-Identifier: BSD-3-Clause
// The library's state for a communicator, as an attribute of it.
#pragma once

#include "handles.hpp"
#include "matrix_order.hpp"
#include "node_barrier.hpp"
#include "nodes.hpp"
#include "round_file.hpp"
#include "segment.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace weft::alltoall {

/// Limits that all ranks agree on: those of rank 0.
struct Limits {
    std::int64_t staging_bytes = std::int64_t(64) << 20; // per node and communicator
    std::int64_t requests_per_node = 1024;
};

/// The order in which nodes exchange, and when it is looked at again: see sched_matrix.cpp.
struct MatrixPlan {
    std::vector<Part> parts;
    bool is_small = false;         // and about even: left to node.multi
    std::vector<std::int64_t> row; // bytes from this rank to each node, as they were agreed
    std::int64_t calls = 0;
    std::int64_t due = 1; // the call at which the ranks compare counts
    std::int64_t wait = 1;
};

class State {
  public:
    /// Collective over `user`.
    explicit State(MPI_Comm user);

    MPI_Comm comm() const noexcept { return comm_.get(); }
    int rank() const noexcept { return rank_; }
    Nodes const &nodes() const noexcept { return nodes_; }
    Limits const &limits() const noexcept { return limits_; }
    int home() const { return nodes_.node_of(rank_); }
    int local() const { return nodes_.local_of(rank_); }
    /// The ranks of this node.
    MPI_Comm node() const noexcept { return node_.get(); }
    /// The first ranks of all nodes; null on others. Made at its first use, then collective.
    MPI_Comm heads();

    /// Call after a failure on this rank: messages to it may still be in flight, and a library may reuse the context of
    /// a freed communicator for the next one (MPICH does), which would then receive them.
    void keep_for_good() noexcept { comm_.keep_for_good(); }

    /// Leaves this communicator's calls to the library, the present one first, on all ranks: each other one that waits
    /// for data of this rank gets an empty message, which no block is, or sees it in the node's barrier, and does the
    /// same. Nobody can end an MPI_Alltoall without data of the rank that refused it, so nobody misses it.
    void refuse() noexcept;
    bool is_left() const noexcept { return left_; }

    /// Provides shared memory for staging, `bytes` each for outgoing and incoming data, and tables of counts. `bytes`
    /// must be the same on all ranks. False, on all ranks, if one node has no memory for it.
    bool provide_staging(std::int64_t bytes);
    /// Bytes of staging in one direction: the largest provided so far.
    std::int64_t staging_bytes() const noexcept { return staging_bytes_; }
    std::byte *staging_out() const noexcept { return segment_.base() + header_bytes(); }
    std::byte *staging_in() const noexcept { return staging_out() + staging_bytes_; }
    /// [local rank][rank] bytes, in shared memory: what ranks of this node send and receive.
    std::int64_t *sent_table() const noexcept;
    std::int64_t *received_table() const noexcept;
    NodeBarrier &barrier() noexcept { return barrier_; }

    /// The rounds in a file, read by rank 0; throws on all ranks if it cannot be read or is invalid.
    RoundFile const &rounds(std::string const &file);

    // Values that the ranks reduced, or that are the same on all because calls on a communicator are in order:
    std::int64_t vector_calls = 0;       // node-aware MPI_Alltoallv so far
    std::int64_t busiest_rank_bytes = 0; // see staging.cpp
    MatrixPlan even, uneven;             // of MPI_Alltoall and MPI_Alltoallv
    std::int64_t mean_bytes = -1;        // of an MPI_Alltoallv, a pair, for the selection table; -1: not yet
    double skew = 1;                     // of it, where the table asks

  private:
    void find_nodes();
    void meet() const;
    std::int64_t table_bytes() const noexcept;
    std::int64_t header_bytes() const noexcept;

    Comm comm_;
    Comm node_;
    Comm heads_;
    bool has_heads_ = false;
    int rank_ = 0;
    bool left_ = false;
    Limits limits_;
    Nodes nodes_;
    Segment segment_;
    NodeBarrier barrier_;
    std::int64_t staging_bytes_ = 0;
    std::int64_t refused_bytes_ = INT64_MAX; // do not request again what a node did not have
    std::map<std::string, RoundFile> rounds_;
};

/// The state of a communicator, made at its first use (then collective) and freed with it, or by MPI_Finalize.
State &state_of(MPI_Comm user);

/// As above, null if there is none yet.
State *find_state(MPI_Comm user);

/// Number of states, for tests.
int live_states();

} // namespace weft::alltoall
