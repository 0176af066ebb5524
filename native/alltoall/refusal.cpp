// SPDX-License-Identifier: BSD-3-Clause
// Arguments that the library refuses. It does so by itself on each rank, before any message, so that each rank may
// leave such a call to it alone. That holds for all that is_refused names. Open MPI compares the lengths of a rank's
// own block there too; other libraries find a wrong length where the message arrives: State::refuse takes all ranks to
// the library.
#include "call.hpp"
#include "error.hpp"
#include "platform.hpp"

namespace weft::alltoall {

namespace {

#ifdef OPEN_MPI
constexpr bool is_open_mpi = true;
#else
constexpr bool is_open_mpi = false;
#endif

/// One side of a call, whatever its integers: counts and displacements of MPI_Alltoall are those of rank 0.
template <typename Count, typename Displacement> struct Given {
    void const *buffer;
    Count const *counts;
    Displacement const *displacements;
    MPI_Datatype type;
    int ranks;

    bool is_complete() const { return counts != nullptr && displacements != nullptr && platform::is_usable(type); }

    /// Whether some count is negative, or data are at no address.
    bool is_wrong() const {
        for (int rank = 0; rank < ranks; ++rank) {
            if (counts[rank] < 0 || (buffer == nullptr && counts[rank] > 0 && displacements[rank] == 0 && at_start())) {
                return true;
            }
        }
        return false;
    }

    bool has_data() const {
        for (int rank = 0; rank < ranks; ++rank) {
            if (counts[rank] != 0) {
                return true;
            }
        }
        return false;
    }

  private:
    /// A type with its data at the address that is given: with MPI_BOTTOM others have an address of their own.
    bool at_start() const {
        MPI_Count lower = 0, extent = 0, size = 0;
        return PMPI_Type_get_true_extent_x(type, &lower, &extent) == MPI_SUCCESS && lower == 0 &&
               PMPI_Type_size_x(type, &size) == MPI_SUCCESS && size > 0;
    }
};

constexpr int zero = 0;

template <typename Count> auto sent(AlltoallCall<Count> const &call, int) {
    return Given<Count, int>{call.send_buffer, &call.send_count, &zero, call.send_type, 1};
}

template <typename Count> auto received(AlltoallCall<Count> const &call, int) {
    return Given<Count, int>{call.receive_buffer, &call.receive_count, &zero, call.receive_type, 1};
}

template <typename Count, typename Displacement> auto sent(AlltoallvCall<Count, Displacement> const &call, int ranks) {
    return Given<Count, Displacement>{call.send_buffer, call.send_counts, call.send_displacements, call.send_type,
                                      ranks};
}

template <typename Count, typename Displacement>
auto received(AlltoallvCall<Count, Displacement> const &call, int ranks) {
    return Given<Count, Displacement>{call.receive_buffer, call.receive_counts, call.receive_displacements,
                                      call.receive_type, ranks};
}

template <typename Count> bool has_same_counts(AlltoallCall<Count> const &call) {
    return call.send_count == call.receive_count && call.send_count != 0;
}

/// By their addresses, as MPICH does.
template <typename Count, typename Displacement> bool has_same_counts(AlltoallvCall<Count, Displacement> const &call) {
    return call.send_counts == call.receive_counts;
}

/// Whether the block that a rank sends to itself has another length than it expects.
template <typename Send, typename Receive> bool is_uneven(Send const &send, Receive const &receive, MPI_Comm comm) {
    int rank = 0;
    MPI_Count out = 0, in = 0;
    check(PMPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check(PMPI_Type_size_x(send.type, &out), "MPI_Type_size_x");
    check(PMPI_Type_size_x(receive.type, &in), "MPI_Type_size_x");
    int const own = send.ranks == 1 ? 0 : rank;
    return send.counts[own] * out != receive.counts[own] * in;
}

} // namespace

template <typename Call> bool is_refused(Call const &call, int ranks) {
    auto const send = sent(call, ranks);
    auto const receive = received(call, ranks);
    bool const in_place = call.send_buffer == MPI_IN_PLACE; // then the send arguments are ignored
    if (!receive.is_complete() || (!in_place && !send.is_complete()) || receive.is_wrong() ||
        (!in_place && send.is_wrong())) {
        return true;
    }
    if (call.receive_buffer == MPI_IN_PLACE) {
        return is_open_mpi || receive.has_data();
    }
    if (in_place) {
        return false;
    }
    if (is_open_mpi) {
        return is_uneven(send, receive, call.comm);
    }
    return call.send_buffer == call.receive_buffer && call.send_buffer != MPI_BOTTOM &&
           call.send_type == call.receive_type && has_same_counts(call) && platform::refuses_aliases();
}

template bool is_refused(AlltoallCall<int> const &, int);
template bool is_refused(AlltoallCall<MPI_Count> const &, int);
template bool is_refused(AlltoallvCall<int, int> const &, int);
template bool is_refused(AlltoallvCall<MPI_Count, MPI_Aint> const &, int);

} // namespace weft::alltoall
