// SPDX-License-Identifier: BSD-3-Clause
// MPI_Alltoall by every algorithm, on every placement, at every size, byte by byte.
#include "oracle.hpp"

#include "nodes.hpp"

namespace {

/// WEFT_TEST_SIZES=few: for many ranks on few cores.
bool few() {
    return std::getenv("WEFT_TEST_SIZES") != nullptr;
}

std::vector<std::int64_t> sizes() {
    return few() ? std::vector<std::int64_t>{0, 7, 512} : std::vector<std::int64_t>{0, 1, 7, 8, 512, 4096, 65537};
}

std::vector<char const *> where() {
    return few() ? std::vector<char const *>{"random:4:7", "sizes:3,5,8"} : oracle::placements();
}

/// The algorithm that a spec must run, so that no test passes because the library ran instead.
std::string expected(std::string const &spec, std::string const &fake, int ranks, std::int64_t bytes) {
    bool const one_node = fake == "block:1000" || ranks <= (fake[0] == 'b' && fake != "block:1" ? 3
                                                            : fake[0] == 's'                    ? 3
                                                                                                : 1);
    std::string const name = spec.substr(0, spec.find('{'));
    weft::alltoall::Nodes const nodes(weft::alltoall::fake_labels(fake, ranks));
    if (name == "sched.matrix" && bytes < 6144 && !one_node && nodes.largest() > 1) {
        return "node.multi";
    }
    return ranks == 1 || (one_node && name.starts_with("node.")) ? "pmpi" : name;
}

} // namespace

TEST_CASE("every algorithm delivers every block of MPI_Alltoall") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    for (char const *fake : where()) {
        oracle::Placed const placed(MPI_COMM_WORLD, fake);
        for (std::int64_t const bytes : sizes()) {
            oracle::Uniform uniform(bytes, ranks);
            for (std::string const &spec : oracle::specs()) {
                CAPTURE(fake);
                CAPTURE(bytes);
                CAPTURE(spec);
                uniform.check(spec.c_str(), false, placed.comm);
                if (bytes > 0 && fake[0] != 'r') {
                    CHECK(uniform.ran == expected(spec, fake, ranks.count, bytes));
                }
                if (bytes == 7 || bytes == 65537) {
                    uniform.check(spec.c_str(), true, placed.comm);
                }
            }
        }
    }
}

TEST_CASE("with little staging memory the same comes out, in many batches") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    for (char const *fake : where()) {
        oracle::Placed const placed(MPI_COMM_WORLD, fake, "4096");
        for (std::int64_t const bytes : {std::int64_t(8), std::int64_t(1001)}) {
            oracle::Uniform uniform(bytes, ranks);
            for (char const *spec :
                 {"node.multi{nl=2}", "node.multi{stages=1}", "node.direct", "node.bruck", "bruck"}) {
                CAPTURE(fake);
                CAPTURE(bytes);
                CAPTURE(spec);
                uniform.check(spec, false, placed.comm);
                uniform.check(spec, true, placed.comm);
            }
        }
    }
}

TEST_CASE("what ran is told, where blocks are too large for Bruck's over the nodes") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (ranks.count == 1) {
        return;
    }
    oracle::Placed const placed(MPI_COMM_WORLD, "block:1", "4096");
    for (auto const &[bytes, ran] : {std::pair{std::int64_t(8), "node.bruck"}, {std::int64_t(1) << 20, "node.multi"}}) {
        oracle::Uniform uniform(bytes, ranks);
        uniform.check("node.bruck", false, placed.comm);
        CHECK(uniform.ran == ran);
    }
}
