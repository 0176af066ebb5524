// SPDX-License-Identifier: BSD-3-Clause
#include "segment.hpp"

#include "hooks.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

namespace weft::alltoall {

namespace {

constexpr int name_bytes = 64;

/// False if a test lets this step fail.
bool can(char const *step) {
    try {
        at_step(step);
        return true;
    } catch (Error const &) {
        return false;
    }
}

/// Maps an open segment and closes its descriptor; null if that fails.
std::byte *mapped(int descriptor, std::int64_t bytes) {
    void *const base =
        can("map") ? mmap(nullptr, std::size_t(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
    close(descriptor);
    return base == MAP_FAILED ? nullptr : static_cast<std::byte *>(base);
}

/// Makes a segment under a new name, which it writes to `name`; -1 and an empty name if there is no memory for it.
int made(char *name, std::int64_t bytes) {
    static std::atomic<unsigned> counter{0};
    if (!can("shm")) {
        name[0] = 0;
        return -1;
    }
    std::snprintf(name, name_bytes, "/weft-alltoall-%ld-%u", long(getpid()), counter++);
    int const descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    // Memory is reserved here: a hole that cannot be filled later would kill the rank by SIGBUS.
    if (descriptor >= 0 && posix_fallocate(descriptor, 0, off_t(bytes)) == 0) {
        return descriptor;
    }
    if (descriptor >= 0) {
        close(descriptor);
        shm_unlink(name);
    }
    name[0] = 0;
    return -1;
}

} // namespace

Segment::Segment(MPI_Comm node, std::int64_t bytes) {
    int rank = 0;
    check(PMPI_Comm_rank(node, &rank), "MPI_Comm_rank");
    char name[name_bytes] = "";
    int const own = rank == 0 ? made(name, bytes) : -1;
    check(PMPI_Bcast(name, name_bytes, MPI_CHAR, 0, node), "MPI_Bcast of a segment's name");
    if (name[0] == 0) {
        return;
    }
    int const descriptor = rank == 0 ? own : can("attach") ? shm_open(name, O_RDWR, 0600) : -1;
    if (descriptor >= 0) {
        base_ = mapped(descriptor, bytes);
        bytes_ = bytes;
    }
    check(PMPI_Barrier(node), "MPI_Barrier"); // all ranks have opened it or failed: the name is no longer needed
    if (rank == 0) {
        shm_unlink(name);
    }
}

Segment::Segment(Segment &&other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Segment &Segment::operator=(Segment &&other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Segment::~Segment() {
    if (base_ != nullptr) {
        munmap(base_, std::size_t(bytes_));
    }
}

} // namespace weft::alltoall
