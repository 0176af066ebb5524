// SPDX-License-Identifier: BSD-3-Clause
// The arguments of an all-to-all: on each side a buffer, a datatype, counts and displacements, in 64 bits.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::alltoall {

/// The properties of a datatype that packing needs.
struct Layout {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    std::int64_t size = 0;   // bytes of data in one element
    std::int64_t extent = 0; // bytes from one element to the next
    std::int64_t begin = 0;  // first byte of an element's data, beside its address
    bool dense = false;      // data are contiguous and in order: bytes can be copied

    /// All zero for a null or uncommitted type that is not used. `used`: some count is not zero.
    static Layout of(MPI_Datatype type, bool used);
};

/// The send or the receive side.
class Side {
  public:
    Side() = default;
    /// The same count for every rank, contiguous blocks.
    Side(void *base, std::int64_t count, Layout layout, int ranks);
    /// A count and a displacement (in elements) per rank.
    Side(void *base, std::vector<std::int64_t> counts, std::vector<std::int64_t> displacements, Layout layout);

    Layout const &layout() const noexcept { return layout_; }
    bool uniform() const noexcept { return counts_.empty(); }
    std::int64_t count(int rank) const { return counts_.empty() ? count_ : counts_[std::size_t(rank)]; }
    /// Packed bytes of a block.
    std::int64_t bytes(int rank) const { return count(rank) * layout_.size; }
    /// Packed bytes of all blocks.
    std::int64_t total_bytes() const;
    int ranks() const noexcept { return ranks_; }
    /// Address of the first element of a block.
    std::byte *address(int rank) const { return element(rank, 0); }

    /// Copies bytes [first, first + length) of the packed block for `rank` to `to`.
    void pack(int rank, std::int64_t first, std::int64_t length, std::byte *to, MPI_Comm comm) const;
    /// The reverse: sets these bytes from `from`, and changes nothing else.
    void unpack(int rank, std::int64_t first, std::int64_t length, std::byte const *from, MPI_Comm comm) const;

    /// Leaves out the block for `rank`, of a side with a count for each.
    void drop(int rank) { counts_[std::size_t(rank)] = 0; }

  private:
    std::byte *element(int rank, std::int64_t index) const;

    void *base_ = nullptr;
    Layout layout_;
    int ranks_ = 0;
    std::int64_t count_ = 0;
    std::vector<std::int64_t> counts_;
    std::vector<std::int64_t> displacements_;
};

/// One call, on one rank. With MPI_IN_PLACE both sides are the receive side, and `in_place` is true on all ranks.
struct Exchange {
    Side send;
    Side receive;
    bool in_place = false;

    /// Whether all blocks of all ranks have one size (MPI_Alltoall).
    bool uniform() const noexcept { return send.uniform() && receive.uniform(); }
};

/// Bytes of the largest block of all ranks. Collective over `comm` for MPI_Alltoallv.
std::int64_t largest_block(Exchange const &exchange, MPI_Comm comm);

/// Copies the block that `rank` sends to itself; nothing with MPI_IN_PLACE.
void copy_own_block(Exchange const &exchange, int rank, MPI_Comm comm);

/// A copy of the data to send: needed with MPI_IN_PLACE if blocks arrive before all have been sent.
class PackedCopy {
  public:
    PackedCopy(Side const &side, MPI_Comm comm);
    /// The copy as a send side of bytes.
    Side const &side() const noexcept { return side_; }

  private:
    std::vector<std::byte> bytes_;
    Side side_;
};

} // namespace weft::alltoall
