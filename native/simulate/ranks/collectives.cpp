// SPDX-License-Identifier: BSD-3-Clause
// Costs that SMPI omits from collectives. The linker substitutes these functions for the MPI_ names (--wrap).
//
// In SMPI the copy of a rank's own block takes no time. Here it uses the node's memory like any other copy, together
// with those of the node's other ranks; where the fabric charges the library's copies, SMPI's copy of it is charged.
//
// SMPI packs a derived datatype into new memory, even a contiguous one: vectors of 18,432 doubles would need a real
// copy of 205 GB. Calls on folded buffers are passed on as doubles, which is the same traffic.
#include "folded_memory.hpp"
#include "machine.hpp"

#include <mpi.h>

#include <simgrid/s4u.hpp>

#include <climits>
#include <cstdint>
#include <optional>
#include <vector>

namespace {

struct Place {
    int rank = 0, size = 1;
    explicit Place(MPI_Comm comm) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Comm_size(comm, &size);
    }
};

std::int64_t bytes_of(MPI_Datatype type) {
    int bytes = 0;
    PMPI_Type_size(type, &bytes);
    return bytes;
}

void copy_own_block(std::int64_t bytes) {
    auto *const here = simgrid::s4u::this_actor::get_host();
    if (bytes > 0)
        simgrid::s4u::Comm::sendto(here, here, static_cast<std::uint64_t>(bytes));
}

// The own block of a call in which SMPI copies it, not sends it: once, whether or not the library's copies are charged.
template <class Call> int with_own_block(std::int64_t bytes, Call const &call) {
    if (!weft::simulate::charges_library_copies())
        copy_own_block(bytes);
    auto const code = call();
    weft::simulate::settle_copies();
    return code;
}

// Number of doubles in one `type`, or nothing if it has gaps or does not consist of whole doubles.
std::optional<std::int64_t> doubles_in(MPI_Datatype type) {
    MPI_Aint lower = 0, extent = 0;
    PMPI_Type_get_extent(type, &lower, &extent);
    auto const bytes = bytes_of(type);
    constexpr auto each = static_cast<std::int64_t>(sizeof(double));
    if (lower != 0 || extent != bytes || bytes < each || bytes % each != 0)
        return std::nullopt;
    return bytes / each;
}

std::optional<std::vector<int>> scaled(int const *values, int count, std::int64_t by) {
    std::vector<int> result(static_cast<std::size_t>(count));
    for (auto i = 0; i < count; ++i) {
        if (values[i] * by > INT_MAX)
            return std::nullopt;
        result[static_cast<std::size_t>(i)] = static_cast<int>(values[i] * by);
    }
    return result;
}

struct Blocks {
    void const *data;
    int const *counts, *places;
    MPI_Datatype type;
};

// MPI_Alltoallv, of folded buffers as doubles.
int by_doubles(int ranks, Blocks const &send, Blocks const &receive, MPI_Comm comm) {
    auto *const into = const_cast<void *>(receive.data);
    auto const out = doubles_in(send.type), in = doubles_in(receive.type);
    if (out && in && weft::simulate::is_folded(send.data) && weft::simulate::is_folded(receive.data)) {
        auto const sc = scaled(send.counts, ranks, *out), sp = scaled(send.places, ranks, *out);
        auto const rc = scaled(receive.counts, ranks, *in), rp = scaled(receive.places, ranks, *in);
        if (sc && sp && rc && rp)
            return PMPI_Alltoallv(send.data, sc->data(), sp->data(), MPI_DOUBLE, into, rc->data(), rp->data(),
                                  MPI_DOUBLE, comm);
    }
    return PMPI_Alltoallv(send.data, send.counts, send.places, send.type, into, receive.counts, receive.places,
                          receive.type, comm);
}

} // namespace

extern "C" int __wrap_MPI_Alltoall(void const *send, int send_count, MPI_Datatype send_type, void *receive,
                                   int receive_count, MPI_Datatype receive_type, MPI_Comm comm) {
    copy_own_block(receive_count * bytes_of(receive_type));
    auto const code = PMPI_Alltoall(send, send_count, send_type, receive, receive_count, receive_type, comm);
    weft::simulate::settle_copies();
    return code;
}

extern "C" int __wrap_MPI_Alltoallv(void const *send, int const *send_counts, int const *send_places,
                                    MPI_Datatype send_type, void *receive, int const *receive_counts,
                                    int const *receive_places, MPI_Datatype receive_type, MPI_Comm comm) {
    Place const here(comm);
    copy_own_block(receive_counts[here.rank] * bytes_of(receive_type));
    auto const code = by_doubles(here.size, {send, send_counts, send_places, send_type},
                                 {receive, receive_counts, receive_places, receive_type}, comm);
    weft::simulate::settle_copies();
    return code;
}

extern "C" int __wrap_MPI_Allgather(void const *send, int send_count, MPI_Datatype send_type, void *receive,
                                    int receive_count, MPI_Datatype receive_type, MPI_Comm comm) {
    auto const own = send == MPI_IN_PLACE ? 0 : receive_count * bytes_of(receive_type);
    return with_own_block(
        own, [&] { return PMPI_Allgather(send, send_count, send_type, receive, receive_count, receive_type, comm); });
}

extern "C" int __wrap_MPI_Gather(void const *send, int send_count, MPI_Datatype send_type, void *receive,
                                 int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    auto const own = Place(comm).rank != root || send == MPI_IN_PLACE ? 0 : send_count * bytes_of(send_type);
    return with_own_block(own, [&] {
        return PMPI_Gather(send, send_count, send_type, receive, receive_count, receive_type, root, comm);
    });
}

extern "C" int __wrap_MPI_Scatter(void const *send, int send_count, MPI_Datatype send_type, void *receive,
                                  int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    auto const own = Place(comm).rank != root || receive == MPI_IN_PLACE ? 0 : receive_count * bytes_of(receive_type);
    return with_own_block(own, [&] {
        return PMPI_Scatter(send, send_count, send_type, receive, receive_count, receive_type, root, comm);
    });
}
