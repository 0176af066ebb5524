// SPDX-License-Identifier: BSD-3-Clause
// Shared memory of a simulated node: all ranks are one process, so the address will do.
#include "segment.hpp"

#include <sys/mman.h>

#include <cstring>
#include <map>

namespace weft::alltoall {

namespace {

std::map<std::byte *, int> &users() {
    static std::map<std::byte *, int> all; // segment -> ranks that have it
    return all;
}

} // namespace

Segment::Segment(MPI_Comm node, std::int64_t bytes) : bytes_(bytes) {
    int rank = 0;
    check(PMPI_Comm_rank(node, &rank), "MPI_Comm_rank");
    if (rank == 0) {
        void *const at = mmap(nullptr, std::size_t(bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        base_ = at == MAP_FAILED ? nullptr : static_cast<std::byte *>(at);
    }
    check(PMPI_Bcast(&base_, int(sizeof base_), MPI_BYTE, 0, node), "MPI_Bcast of a segment's address");
    if (base_ != nullptr) {
        ++users()[base_];
    }
    check(PMPI_Barrier(node), "MPI_Barrier"); // all have counted themselves
}

Segment::Segment(Segment &&other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Segment &Segment::operator=(Segment &&other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Segment::~Segment() {
    if (base_ != nullptr && --users()[base_] == 0) {
        users().erase(base_);
        munmap(base_, std::size_t(bytes_));
    }
}

} // namespace weft::alltoall
