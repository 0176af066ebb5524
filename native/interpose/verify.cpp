// SPDX-License-Identifier: BSD-3-Clause
#include "verify.hpp"

#include "error.hpp"

#include <algorithm>
#include <climits>

namespace weft::interpose {

namespace {

bool fits_everywhere(alltoall::Exchange const &exchange, MPI_Comm comm) {
    int fits = exchange.send.total_bytes() <= INT_MAX && exchange.receive.total_bytes() <= INT_MAX ? 1 : 0;
    check(PMPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
    return fits != 0;
}

/// Packed sizes and displacements, as ints for MPI_Alltoallv.
struct Packed {
    explicit Packed(alltoall::Side const &side) {
        for (int rank = 0; rank < side.ranks(); ++rank) {
            counts.push_back(int(side.bytes(rank)));
            places.push_back(rank == 0 ? 0 : places.back() + counts[std::size_t(rank - 1)]);
        }
    }
    std::vector<int> counts;
    std::vector<int> places;
};

} // namespace

Verification::Verification(alltoall::Exchange const &exchange, alltoall::State &state)
    : exchange_(exchange), state_(state), possible_(fits_everywhere(exchange, state.comm())) {
    if (possible_) {
        sent_.emplace(exchange.send, state.comm());
    }
}

std::string Verification::compare() {
    alltoall::PackedCopy const came(exchange_.receive, state_.comm());
    Packed const out(exchange_.send), in(exchange_.receive);
    std::vector<std::byte> wanted(std::size_t(exchange_.receive.total_bytes()));
    double const begin = PMPI_Wtime();
    check(PMPI_Alltoallv(sent_->side().address(0), out.counts.data(), out.places.data(), MPI_BYTE, wanted.data(),
                         in.counts.data(), in.places.data(), MPI_BYTE, state_.comm()),
          "MPI_Alltoallv");
    library_seconds_ = PMPI_Wtime() - begin;
    std::byte const *const got = came.side().address(0);
    auto const first = std::mismatch(wanted.begin(), wanted.end(), got);
    if (first.first == wanted.end()) {
        return "";
    }
    auto const byte = first.first - wanted.begin();
    auto const after = std::upper_bound(in.places.begin(), in.places.end(), int(byte));
    auto const source = after - in.places.begin() - 1;
    return "weft: WEFT_VERIFY found another result than the library's: the block from rank " + std::to_string(source) +
           " differs at byte " + std::to_string(byte - in.places[std::size_t(source)]) +
           " -> set WEFT_ALLTOALL=pmpi, and report this with the output of WEFT_REPORT";
}

} // namespace weft::interpose
