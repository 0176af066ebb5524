// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/joint_proof.hpp"

#include <array>
#include <sstream>

namespace weft {

Contents contents_of(ConstVectors vectors) {
    return {vectors.count, checksum(vectors.elements())};
}

Flaws check_preserved(Team const &team, Contents before, Contents after) {
    std::array<std::uint64_t, 4> sums{before.vectors, before.checksum, after.vectors, after.checksum};
    // Unsigned sums wrap around, as the checksum requires.
    check(PMPI_Allreduce(MPI_IN_PLACE, sums.data(), 4, MPI_UINT64_T, MPI_SUM, team.comm), "MPI_Allreduce of checksums");
    Flaws flaws;
    if (team.rank != team.size - 1) {
        return flaws;
    }
    if (sums[0] != sums[2]) {
        flaws.add([&] {
            return "all ranks together held " + std::to_string(sums[0]) + " vectors before and hold " +
                   std::to_string(sums[2]) + " after";
        });
    }
    if (sums[1] != sums[3]) {
        flaws.add([&] {
            std::ostringstream text;
            text << "the checksum of all elements was " << std::hex << sums[1] << " before and is " << sums[3]
                 << " after";
            return text.str();
        });
    }
    return flaws;
}

namespace {

/// The last key of a rank with keys, and the rank; rank -1 means no keys.
struct LastKey {
    double key;
    double rank; // a double too, so that the pair is two MPI_DOUBLE
};

/// Reduction to the later rank with keys: associative, not commutative.
void take_later(void *earlier, void *later, int *length, MPI_Datatype *) {
    auto const *const first = static_cast<LastKey const *>(earlier);
    auto *const second = static_cast<LastKey *>(later);
    for (int i = 0; i < *length; ++i) {
        if (second[i].rank < 0) {
            second[i] = first[i];
        }
    }
}

/// The last key before this rank.
LastKey last_key_before(Team const &team, ConstVectors sorted) {
    LastKey mine{0, -1};
    if (sorted.count > 0) {
        mine = {sorted.key(sorted.count - 1), static_cast<double>(team.rank)};
    }
    LastKey before{0, -1};
    auto const pair = Datatype::contiguous(2, MPI_DOUBLE);
    MPI_Op operation = MPI_OP_NULL;
    check(PMPI_Op_create(take_later, 0, &operation), "MPI_Op_create");
    auto const result = PMPI_Exscan(&mine, &before, 1, pair, operation, team.comm);
    PMPI_Op_free(&operation);
    check(result, "MPI_Exscan of last keys");
    return team.rank == 0 ? LastKey{0, -1} : before; // MPI leaves rank 0's result undefined
}

} // namespace

Flaws check_order_across(Team const &team, ConstVectors sorted) {
    auto const before = last_key_before(team, sorted);
    Flaws flaws;
    // In this form a NaN is a flaw too.
    if (before.rank >= 0 && sorted.count > 0 && !(before.key <= sorted.key(0))) {
        flaws.add([&] {
            std::ostringstream text;
            text.precision(17);
            text << "rank " << team.rank << ": vector 0 holds key " << sorted.key(0) << " after key " << before.key
                 << " on rank " << before.rank;
            return text.str();
        });
    }
    return flaws;
}

} // namespace weft
