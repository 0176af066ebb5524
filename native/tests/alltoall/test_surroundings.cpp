// SPDX-License-Identifier: BSD-3-Clause
// What ranks take from their surroundings: rank 0's variables and rank 0's files, for all.
#include "hooked.hpp"

#include "state.hpp"
#include "texts.hpp"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <unistd.h>

namespace a2a = weft::alltoall;

TEST_CASE("a wrong limit in the environment is refused on all ranks, by rank 0's value") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (ranks.count == 1) {
        return;
    }
    char byte = 0;
    std::vector<char> receive(std::size_t(ranks.count));
    for (auto const &[fake, staging] : {std::pair{"blocks:2", "64MiB"}, {"block:2", "lots"}}) {
        oracle::Placed const placed(MPI_COMM_WORLD, fake, staging);
        if (ranks.me != 0) {
            setenv("WEFT_NODES_FAKE", "block:1", 1);
            setenv("WEFT_STAGING_BYTES", "1MiB", 1);
        }
        std::vector<char> const all(std::size_t(ranks.count), byte);
        int const code = weft_alltoall("bruck", all.data(), 1, MPI_BYTE, receive.data(), 1, MPI_BYTE, placed.comm);
        int error_class = MPI_SUCCESS;
        MPI_Error_class(code, &error_class);
        CHECK(error_class == MPI_ERR_ARG);
    }
}

TEST_CASE("staging is what a call needs, and never more than its limit") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    std::int64_t const half = 32'768; // of the limit, for each direction
    oracle::Placed const placed(MPI_COMM_WORLD, "block:1", "64KiB");
    // just enough for a batch, a byte more, and so much that a batch has a part of a block
    for (std::int64_t const bytes : {half / ranks.count, half / ranks.count + 1, 2 * half + 1}) {
        for (char const *spec : {"node.multi{stages=1}", "node.direct"}) {
            CAPTURE(bytes);
            CAPTURE(spec);
            oracle::Uniform uniform(bytes, ranks);
            uniform.check(spec, false, placed.comm);
            uniform.check(spec, true, placed.comm);
            CHECK(uniform.ran == std::string(spec, std::strcspn(spec, "{")));
            CHECK(a2a::state_of(placed.comm).staging_bytes() == half);
        }
    }
    oracle::Placed const roomy(MPI_COMM_WORLD, "block:1");
    oracle::Uniform(half / ranks.count, ranks).check("node.multi", false, roomy.comm);
    CHECK(a2a::state_of(roomy.comm).staging_bytes() == half); // not the next power of two
}

TEST_CASE("a file is read by rank 0 alone; where it cannot, all ranks say so and whose host it is") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    std::string const path = "/tmp/weft-file-of-rank-0-" + std::to_string(getpid());
    if (ranks.me == 0) {
        std::ofstream(path) << std::string("+a\0b", 4);
    }
    std::string const read = a2a::broadcast_file(path, "the table", 4, MPI_COMM_WORLD); // of another name elsewhere
    CHECK(read == std::string("+a\0b", 4));
    std::remove(path.c_str());
    try {
        a2a::broadcast_file(path, "the table", 4, MPI_COMM_WORLD);
        FAIL("it was read");
    } catch (a2a::Error const &error) {
        CHECK(error.code() == MPI_ERR_FILE);
        std::string const what = error.what();
        CHECK(what.find("weft: cannot read the table \"/tmp/weft-file-of-rank-0-") == 0);
        CHECK(what.find(" -> name a readable file on the host of rank 0") != std::string::npos);
    }
}
