// SPDX-License-Identifier: BSD-3-Clause
// What the measured calls are given: their roots, their numbers.
#include "measured_cell.hpp"
#include "scratch_file.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

/// The roots of all broadcasts, in their order.
static std::vector<int> roots;

extern "C" int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    roots.push_back(root);
    return PMPI_Bcast(data, count, type, root, comm);
}

/// The largest first number that any sum over all ranks has had.
static double largest_sum = 0;

extern "C" int MPI_Allreduce(void const *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    int const code = PMPI_Allreduce(from, to, count, type, op, comm);
    largest_sum = std::max(largest_sum, *static_cast<double const *>(to));
    return code;
}

TEST_CASE("a rotating root is every rank in its turn, and the first and the last are proved") {
    int const ranks = MeasuringRanks::all().team.size;
    MeasuredCell cell("collective",
                      {{"collective", "bcast"}, {"bytes", "8"}, {"root", "-1"}, {"cases", std::to_string(ranks)}});
    roots.clear();
    CHECK(cell.run().errors == 0);
    CHECK(std::set<int>(roots.begin(), roots.end()).size() == std::size_t(ranks));
    CHECK(roots.back() == ranks - 1);
    CHECK(roots[roots.size() - std::min<std::size_t>(2, std::size_t(ranks))] == 0);
}

TEST_CASE("sums stay what they are however often the call repeats, in place, too") {
    double const ranks = MeasuringRanks::all().team.size;
    for (auto const *form : {"plain", "inplace"}) {
        CAPTURE(form);
        largest_sum = 0;
        MeasuredCell cell("collective", {{"collective", "allreduce"}, {"bytes", "8"}, {"form", form}, {"cases", "40"}});
        CHECK(cell.run().errors == 0);
        CHECK(largest_sum <= ranks * (ranks + 1) / 2); // that of the proof
    }
}

TEST_CASE("a table that is no file, or larger than any table, is not read to its end") {
    ScratchFile const large("{");
    std::filesystem::resize_file(large.path(), (64 << 20) + 1);
    MeasuredCell cell("collective", {{"collective", "alltoall"}, {"bytes", "8"}, {"table", large.path()}});
    CHECK(refusal_of(cell).find("has more than 64 MiB") != std::string::npos);
    MeasuredCell none("collective", {{"collective", "alltoall"}, {"bytes", "8"}, {"table", "/no/such"}});
    CHECK(refusal_of(none).find("cannot read the selection table") != std::string::npos);
}
