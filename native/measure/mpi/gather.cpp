// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/gather.hpp"

#include "mpi/count.hpp"

#include <numeric>
#include <vector>

namespace weft {

std::string gather_texts(Team const &team, std::string const &mine) {
    to_count(std::uint64_t(sum_over(team.comm, std::int64_t(mine.size()))), "bytes of the ranks' texts");
    int const length = to_count(mine.size(), "bytes of a rank's text");
    std::vector<int> lengths(team.rank == 0 ? std::size_t(team.size) : 0);
    check(PMPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, team.comm), "MPI_Gather of lengths");
    std::vector<int> offsets(lengths.size());
    std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), 0);
    std::string all(lengths.empty() ? 0 : std::size_t(offsets.back()) + std::size_t(lengths.back()), ' ');
    check(
        PMPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, 0, team.comm),
        "MPI_Gatherv of texts");
    return all;
}

} // namespace weft
