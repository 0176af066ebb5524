// SPDX-License-Identifier: BSD-3-Clause
// The expected bytes of an all-to-all, in closed form, and buffers with guard zones.
#pragma once

#include "weft_alltoall.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace oracle {

/// Byte `index` of the block from `source` to `target`.
inline unsigned char value(int source, int target, std::int64_t index) {
    std::uint64_t mixed = std::uint64_t(source) * 0x9e3779b97f4a7c15u + std::uint64_t(target) * 0xc2b2ae3d27d4eb4fu +
                          std::uint64_t(index) * 0x165667b19e3779f9u;
    return static_cast<unsigned char>(mixed >> 56 ^ mixed >> 24);
}

constexpr unsigned char guard = 0xa5;
constexpr std::size_t zone = 256; // bytes of the guard zones before and after a buffer

/// Sizes of blocks: bytes from a rank to a rank.
using Sizes = std::function<std::int64_t(int source, int target)>;

/// The blocks of one rank in a buffer, with gaps of `gap` bytes between them, ascending or descending by rank.
class Blocks {
  public:
    Blocks(int ranks, std::function<std::int64_t(int)> bytes, std::int64_t gap, bool descending) {
        std::int64_t sum = std::int64_t(zone);
        for (int i = 0; i < ranks; ++i) {
            int const rank = descending ? ranks - 1 - i : i;
            counts.resize(std::size_t(ranks));
            places.resize(std::size_t(ranks));
            counts[std::size_t(rank)] = bytes(rank);
            places[std::size_t(rank)] = sum - std::int64_t(zone);
            sum += bytes(rank) + gap;
        }
        memory.assign(std::size_t(sum) + zone, guard);
    }

    unsigned char *base() { return memory.data() + zone; }
    void fill(int rank, std::function<unsigned char(std::int64_t)> with) {
        for (std::int64_t i = 0; i < counts[std::size_t(rank)]; ++i) {
            base()[places[std::size_t(rank)] + i] = with(i);
        }
    }

    std::vector<MPI_Count> counts;
    std::vector<MPI_Aint> places;
    std::vector<unsigned char> memory;
};

struct Ranks {
    explicit Ranks(MPI_Comm comm) {
        MPI_Comm_rank(comm, &me);
        MPI_Comm_size(comm, &count);
    }
    int me = 0;
    int count = 0;
};

/// A duplicate of a communicator, as if its ranks were on the nodes of `fake`, with a limit of staging bytes.
class Placed {
  public:
    Placed(MPI_Comm of, char const *fake, char const *staging = "64MiB") {
        MPI_Comm_dup(of, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        fake_ = fake;
        staging_ = staging;
        set();
    }
    Placed(Placed const &) = delete;
    Placed &operator=(Placed const &) = delete;
    ~Placed() { MPI_Comm_free(&comm); }

    /// The settings are read when the library first sees the communicator.
    void set() const {
        setenv("WEFT_NODES_FAKE", fake_.c_str(), 1);
        setenv("WEFT_STAGING_BYTES", staging_.c_str(), 1);
    }

    MPI_Comm comm = MPI_COMM_NULL;

  private:
    std::string fake_;
    std::string staging_;
};

inline void run_v(char const *spec, Blocks &send, Blocks &receive, bool in_place, MPI_Comm comm,
                  int expected = MPI_SUCCESS) {
    int const code = in_place
                         ? weft_alltoallv(spec, MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, receive.base(),
                                          receive.counts.data(), receive.places.data(), MPI_BYTE, comm)
                         : weft_alltoallv(spec, send.base(), send.counts.data(), send.places.data(), MPI_BYTE,
                                          receive.base(), receive.counts.data(), receive.places.data(), MPI_BYTE, comm);
    CHECK_MESSAGE(code == expected, weft_alltoall_error());
}

/// One MPI_Alltoallv with blocks of `sizes`, and all checks of its result.
inline void check_v(char const *spec, Sizes const &sizes, std::int64_t gap, bool descending, bool in_place,
                    MPI_Comm comm) {
    Ranks const ranks(comm);
    Blocks send(ranks.count, [&](int to) { return sizes(ranks.me, to); }, gap, descending);
    Blocks receive(ranks.count, [&](int from) { return sizes(from, ranks.me); }, gap, !descending);
    Blocks wanted = receive;
    for (int rank = 0; rank < ranks.count; ++rank) {
        send.fill(rank, [&](std::int64_t i) { return value(ranks.me, rank, i); });
        wanted.fill(rank, [&](std::int64_t i) { return value(rank, ranks.me, i); });
        if (in_place) {
            receive.fill(rank, [&](std::int64_t i) { return value(ranks.me, rank, i); });
        }
    }
    Blocks const sent = send;
    run_v(spec, send, receive, in_place, comm);
    CHECK(receive.memory == wanted.memory); // the data, and every byte between and around the blocks
    CHECK(send.memory == sent.memory);
}

/// An MPI_Alltoall with blocks of `bytes`, used for many algorithms: filling the buffers takes longer than sending
/// them.
class Uniform {
  public:
    Uniform(std::int64_t bytes, Ranks const &ranks)
        : bytes_(bytes), sent_(std::size_t(bytes * ranks.count) + 2 * zone, guard), wanted_(sent_) {
        std::size_t at = zone;
        for (int rank = 0; rank < ranks.count; ++rank) {
            for (std::int64_t i = 0; i < bytes; ++i, ++at) {
                sent_[at] = value(ranks.me, rank, i);
                wanted_[at] = value(rank, ranks.me, i);
            }
        }
        send_ = sent_;
    }

    void check(char const *spec, bool in_place, MPI_Comm comm) {
        receive_ = in_place ? sent_ : std::vector<unsigned char>(sent_.size(), guard);
        void *const to = receive_.data() + zone;
        int const code = in_place
                             ? weft_alltoall(spec, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, bytes_, MPI_BYTE, comm)
                             : weft_alltoall(spec, send_.data() + zone, bytes_, MPI_BYTE, to, bytes_, MPI_BYTE, comm);
        CHECK_MESSAGE(code == MPI_SUCCESS, weft_alltoall_error());
        CHECK(receive_ == wanted_);
        CHECK(send_ == sent_);
        ran = weft_alltoall_ran();
    }

    std::string ran; // the algorithm that the last check ran

  private:
    std::int64_t bytes_;
    std::vector<unsigned char> sent_;
    std::vector<unsigned char> wanted_;
    std::vector<unsigned char> send_;
    std::vector<unsigned char> receive_;
};

/// Every algorithm, with parameters that make it behave differently.
inline std::vector<std::string> specs() {
    return {"pmpi",
            "flat.window{w=1}",
            "flat.window{w=4,order=node-rotated}",
            "flat.window{w=3,order=xor,bytes_in_flight=8KiB}",
            "flat.window{order=permuted}",
            "flat.pairwise",
            "bruck{r=2}",
            "bruck{r=3}",
            "node.multi{nl=1,stages=1}",
            "node.multi{nl=2,stages=3}",
            "node.multi{nl=64}",
            "node.multi{nl=3,stages=64}",
            "node.direct{w=1}",
            "node.direct{w=64}",
            "node.bruck{r=2}",
            "node.bruck{r=4}",
            "sched.matrix{w=1}",
            "sched.matrix{w=5}"};
}

/// Placements on nodes: block, cyclic, random, uneven sizes, one rank per node, one node.
inline std::vector<char const *> placements() {
    return {"block:3", "cyclic:4", "random:4:7", "sizes:3,5,8", "block:1", "block:1000"};
}

} // namespace oracle
