// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/block_table.hpp"

#include <algorithm>
#include <utility>

namespace weft {

namespace {

MPI_Datatype type_of(int) {
    return MPI_INT;
}

MPI_Datatype type_of(MPI_Count) {
    return MPI_COUNT;
}

} // namespace

std::string BlockTable::refusal(std::uint64_t array_vectors, std::uint64_t m) {
    return refusal(array_vectors, m, MPI_VERSION);
}

std::string BlockTable::refusal(std::uint64_t array_vectors, std::uint64_t m, int mpi_version) {
    if (m > static_cast<std::uint64_t>(INT_MAX)) {
        return "m = " + std::to_string(m) + " doubles in one vector are over the " + std::to_string(INT_MAX) +
               " that a datatype counts: take a smaller m and a larger n";
    }
    if (needs_wide(array_vectors) && mpi_version < 4) {
        return "an array of " + std::to_string(array_vectors) + " vectors has displacements over " +
               std::to_string(INT_MAX) + ", and this MPI (standard " + std::to_string(mpi_version) +
               ") has no MPI_Alltoallv_c for them: take a larger m with a smaller n, more ranks, or an MPI of standard "
               "4";
    }
    return {};
}

std::uint64_t BlockTable::bytes(int ranks, bool wide) {
    auto const each = wide ? sizeof(MPI_Count) + sizeof(MPI_Aint) : 2 * sizeof(int);
    return static_cast<std::uint64_t>(ranks) * 2 * each;
}

BlockTable::BlockTable(int ranks, bool wide, AllToAll algorithm)
    : arrays_(wide ? std::variant<Narrow, Wide>(Wide(static_cast<std::size_t>(ranks)))
                   : std::variant<Narrow, Wide>(Narrow(static_cast<std::size_t>(ranks)))),
      algorithm_(std::move(algorithm)) {}

void BlockTable::set_equal(std::uint64_t block) {
    std::visit(
        [&]<class Count, class Place>(Arrays<Count, Place> &arrays) {
            for (std::size_t k = 0; k < arrays.send_counts.size(); ++k) {
                arrays.send_counts[k] = arrays.receive_counts[k] = static_cast<Count>(block);
                arrays.send_places[k] = arrays.receive_places[k] = static_cast<Place>(k * block);
            }
        },
        arrays_);
}

void BlockTable::set_send(std::span<std::uint64_t const> begins) {
    std::visit(
        [&]<class Count, class Place>(Arrays<Count, Place> &arrays) {
            for (std::size_t k = 0; k < arrays.send_counts.size(); ++k) {
                arrays.send_counts[k] = static_cast<Count>(begins[k + 1] - begins[k]);
                arrays.send_places[k] = static_cast<Place>(begins[k]);
            }
        },
        arrays_);
}

void BlockTable::forget_received() {
    std::visit([](auto &arrays) { std::fill(arrays.receive_counts.begin(), arrays.receive_counts.end(), -1); },
               arrays_);
}

void BlockTable::exchange_counts(MPI_Comm comm) {
    std::visit(
        [&]<class Count, class Place>(Arrays<Count, Place> &arrays) {
            auto const type = type_of(Count{});
            algorithm_.alltoall(arrays.send_counts.data(), 1, type, arrays.receive_counts.data(), 1, type, comm);
        },
        arrays_);
}

void BlockTable::place_received(std::span<std::uint64_t> begins) {
    std::visit(
        [&]<class Count, class Place>(Arrays<Count, Place> &arrays) {
            begins[0] = 0;
            for (std::size_t k = 0; k < arrays.receive_counts.size(); ++k) {
                arrays.receive_places[k] = static_cast<Place>(begins[k]);
                begins[k + 1] = begins[k] + static_cast<std::uint64_t>(std::max(Count{0}, arrays.receive_counts[k]));
            }
        },
        arrays_);
}

void BlockTable::exchange_blocks(void const *from, void *to, MPI_Datatype type, MPI_Comm comm) const {
    std::visit(
        [&](auto const &arrays) {
            algorithm_.alltoallv(from, arrays.send_counts.data(), arrays.send_places.data(), type, to,
                                 arrays.receive_counts.data(), arrays.receive_places.data(), type, comm);
        },
        arrays_);
}

Datatype vector_type(std::uint64_t m) {
    return Datatype::contiguous(static_cast<int>(m), MPI_DOUBLE);
}

} // namespace weft
