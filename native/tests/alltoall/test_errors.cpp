// SPDX-License-Identifier: BSD-3-Clause
// Failures of shared memory on one node, of any step of any algorithm, and of the caller's arguments.
#include "hooked.hpp"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/resource.h>
#include <unistd.h>

namespace {

namespace a2a = weft::alltoall;

char const *fail_at = "";
int fail_after = 0;

void failing(char const *step) {
    if (std::strcmp(step, fail_at) == 0 && fail_after-- == 0) {
        throw a2a::Error(MPI_ERR_INTERN, std::string("planted at ") + step);
    }
}

int called = 0;
int seen = MPI_SUCCESS;

void noting(MPI_Comm *, int *code, ...) {
    ++called;
    seen = *code;
}

int class_of(int code) {
    int error_class = -1;
    MPI_Error_class(code, &error_class);
    return error_class;
}

} // namespace

TEST_CASE("where one node has no shared memory all fall back, and say so") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (ranks.count < 3) {
        return; // one node only
    }
    oracle::Placed const placed(MPI_COMM_WORLD, "block:2");
    oracle::Uniform uniform(5000, ranks);
    {
        fail_at = "shm";
        fail_after = 0;
        oracle::Hook const hook(ranks.me == 2 ? failing : nullptr); // the first rank of the second node
        for (char const *spec : {"node.multi", "node.direct", "node.bruck"}) {
            uniform.check(spec, false, placed.comm);
            CHECK(uniform.ran == "pmpi");
        }
    }
    uniform.check("node.multi", false, placed.comm); // and stay there: they do not request it at every call
    CHECK(uniform.ran == "pmpi");
    oracle::Uniform smaller(8, ranks);
    smaller.check("node.multi", false, placed.comm); // a smaller request than the refused one is made
    CHECK(smaller.ran == "node.multi");
    oracle::Placed const fresh(MPI_COMM_WORLD, "block:2");
    uniform.check("node.multi", false, fresh.comm);
    CHECK(uniform.ran == "node.multi");
    CHECK(oracle::segments_left() == 0);
}

TEST_CASE("one rank that cannot attach or map the segment of its node lets all fall back, and leaves nothing") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (ranks.count < 3) {
        return; // one node only
    }
    oracle::Uniform uniform(100, ranks);
    {
        oracle::Placed const first(MPI_COMM_WORLD, "block:2"); // the library opens what it needs for all pairs
        for (char const *spec : {"pmpi", "flat.window", "node.multi"}) {
            uniform.check(spec, false, first.comm);
        }
    }
    int const open = oracle::descriptors();
    for (char const *step : {"shm", "attach", "map"}) {
        for (int const who : {0, 1}) { // the first rank of the first node, which makes the segment, and the second
            CAPTURE(step);
            CAPTURE(who);
            oracle::Placed const placed(MPI_COMM_WORLD, "block:2");
            fail_at = step;
            fail_after = 0;
            oracle::Hook const hook(ranks.me == who ? failing : nullptr);
            bool const fails = std::strcmp(step, "map") == 0 || (std::strcmp(step, "shm") == 0) == (who == 0);
            for (char const *spec : {"node.multi", "node.direct", "node.bruck"}) {
                uniform.check(spec, false, placed.comm);
                CHECK(uniform.ran == (fails ? "pmpi" : std::string(spec)));
            }
        }
    }
    CHECK(oracle::segments_left() == 0);
    CHECK(oracle::descriptors() == open);
}

TEST_CASE("a limit of the system on one rank's files is a segment that cannot be made: all fall back") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (ranks.count < 3) {
        return;
    }
    oracle::Placed const placed(MPI_COMM_WORLD, "block:2");
    oracle::Uniform uniform(20'000, ranks);
    rlimit old{};
    getrlimit(RLIMIT_FSIZE, &old);
    auto const before = std::signal(SIGXFSZ, SIG_IGN); // or the system ends the process
    if (ranks.me == 2) {                               // the first of the second node
        rlimit const low{4096, old.rlim_max};
        setrlimit(RLIMIT_FSIZE, &low);
    }
    uniform.check("node.multi", false, placed.comm);
    setrlimit(RLIMIT_FSIZE, &old);
    std::signal(SIGXFSZ, before);
    CHECK(uniform.ran == "pmpi");
    CHECK(oracle::segments_left() == 0);
}

TEST_CASE("a communicator that cannot be split is an error on the user's, and the next call tries again") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (ranks.count == 1) {
        return;
    }
    oracle::Uniform uniform(10, ranks);
    oracle::Blocks send(ranks.count, [](int) { return 10; }, 0, false), receive = send;
    for (int const after : {0, 1}) { // of the private communicator, of the node's
        oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
        {
            fail_at = "split";
            fail_after = after;
            oracle::Hook const hook(failing); // on all ranks: a split is collective
            int const code =
                weft_alltoall("node.multi", send.base(), 10, MPI_BYTE, receive.base(), 10, MPI_BYTE, placed.comm);
            CHECK(class_of(code) == MPI_ERR_INTERN);
            CHECK(std::string(weft_alltoall_error()) == "planted at split");
        }
        MPI_Barrier(MPI_COMM_WORLD);
        uniform.check("node.multi", false, placed.comm);
        CHECK(uniform.ran == "node.multi");
    }
}

TEST_CASE("a failure in any step is returned by the communicator's handler on every rank that met it") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    oracle::Blocks send(ranks.count, [](int) { return 600; }, 0, false), receive = send;
    for (std::string const spec :
         {"flat.window", "flat.pairwise", "bruck", "node.multi{nl=2}", "node.direct", "node.bruck", "sched.matrix"}) {
        for (char const *step : {"pack", "send", "receive", "wait", "barrier", "unpack"}) {
            for (int const after : {0, 1}) {
                if (ranks.count == 1) {
                    continue;
                }
                CAPTURE(std::string(spec));
                CAPTURE(step);
                oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
                oracle::Hook const hook(
                    failing); // on all ranks: MPI guarantees nothing for the peers of a rank that failed
                fail_at = step;
                fail_after = after;
                int const code =
                    weft_alltoall(spec.c_str(), send.base(), 600, MPI_BYTE, receive.base(), 600, MPI_BYTE, placed.comm);
                bool const met = fail_after < 0;
                CHECK((code != MPI_SUCCESS) == met);
                if (met) {
                    CHECK(class_of(code) == MPI_ERR_INTERN);
                    char text[MPI_MAX_ERROR_STRING] = "";
                    int length = 0;
                    MPI_Error_string(code, text, &length);
                    CHECK(std::string(text) == std::string("planted at ") + step);
                }
                MPI_Barrier(MPI_COMM_WORLD);
            }
        }
    }
}

TEST_CASE("ranks of a node do not wait for one that failed") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (ranks.count != 4) {
        return;
    }
    oracle::Placed const placed(MPI_COMM_WORLD, "block:2");
    oracle::Blocks send(4, [](int) { return 60; }, 0, false), receive = send;
    fail_at = "pack";
    fail_after = 0;
    oracle::Hook const hook(ranks.me % 2 == 1 ? failing : nullptr); // one rank of each node
    int const code = weft_alltoall("node.multi", send.base(), 60, MPI_BYTE, receive.base(), 60, MPI_BYTE, placed.comm);
    CHECK(class_of(code) == (ranks.me % 2 == 1 ? MPI_ERR_INTERN : MPI_ERR_OTHER));
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("errors go to the caller's communicator and its handler, not to ours") {
    called = 0;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(noting, &handler);
    oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
    MPI_Comm_set_errhandler(placed.comm, handler);
    char byte = 0;
    CHECK(class_of(weft_alltoall("node.mutli", &byte, 1, MPI_BYTE, &byte, 1, MPI_BYTE, placed.comm)) == MPI_ERR_ARG);
    CHECK(called == 1);
    CHECK(class_of(seen) == MPI_ERR_ARG);
    CHECK(std::string(weft_alltoall_error()).find("there are: pmpi") != std::string::npos);
    MPI_Errhandler_free(&handler);
    if (oracle::Ranks(placed.comm).count > 1) {
        CHECK(class_of(weft_alltoall("bruck", &byte, -1, MPI_BYTE, &byte, 1, MPI_BYTE, placed.comm)) == MPI_ERR_COUNT);
        CHECK(called == 2);
        CHECK(class_of(weft_alltoall("bruck", &byte, 1, MPI_DATATYPE_NULL, &byte, 1, MPI_BYTE, placed.comm)) ==
              MPI_ERR_TYPE);
        CHECK(class_of(weft_alltoall("sched{file=/no/such}", &byte, 1, MPI_BYTE, &byte, 1, MPI_BYTE, placed.comm)) ==
              MPI_ERR_FILE);
    }
}

TEST_CASE("a block shorter than its receiver expects is an error there, and not a wrong result") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (ranks.count != 2) {
        return;
    }
    std::vector<unsigned char> send(200), receive(200);
    // 50 bytes each to itself; rank 0 sends rank 1 four bytes fewer than rank 1 expects
    bool const first = ranks.me == 0;
    std::vector<MPI_Count> const mine = first ? std::vector<MPI_Count>{50, 96} : std::vector<MPI_Count>{100, 50};
    std::vector<MPI_Count> const theirs = first ? std::vector<MPI_Count>{50, 100} : std::vector<MPI_Count>{100, 50};
    std::vector<MPI_Aint> const places = {0, 100};
    for (char const *spec :
         {"flat.window", "flat.pairwise", "bruck", "node.multi", "node.direct", "node.bruck", "sched.matrix"}) {
        CAPTURE(std::string(spec));
        oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
        int const code = weft_alltoallv(spec, send.data(), mine.data(), places.data(), MPI_BYTE, receive.data(),
                                        theirs.data(), places.data(), MPI_BYTE, placed.comm);
        CAPTURE(std::string(weft_alltoall_error()));
        CHECK(class_of(code) == (ranks.me == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

TEST_CASE("a message that a failed call left behind is not taken by another algorithm") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (ranks.count != 2) {
        return;
    }
    oracle::Uniform fresh(40, ranks);
    for (char const *spec :
         {"flat.window", "flat.pairwise", "node.multi", "node.direct", "node.bruck", "sched.matrix"}) {
        CAPTURE(std::string(spec));
        oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
        std::vector<unsigned char> const old(80, 0x11);
        std::vector<unsigned char> receive(80);
        fail_at = "receive"; // Bruck's sends first: rank 0 fails with a message of rank 1 on its way
        fail_after = 0;
        {
            oracle::Hook const hook(ranks.me == 0 ? failing : nullptr);
            int const code =
                weft_alltoall("bruck", old.data(), 40, MPI_BYTE, receive.data(), 40, MPI_BYTE, placed.comm);
            CHECK((code == MPI_SUCCESS) == (ranks.me == 1));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        fresh.check(spec, false, placed.comm);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

TEST_CASE("an MPI_Alltoall that sends more than it receives is the library's error on every rank, and nobody waits") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (ranks.count == 1) {
        return;
    }
    std::vector<unsigned char> send(std::size_t(ranks.count) * 100), receive(send.size(), oracle::guard);
    oracle::Rounds const rounds(ranks); // which rank 0 reads for all
    for (char const *spec : {"flat.window", "flat.pairwise", "bruck", "node.multi", "node.direct", "node.bruck",
                             "sched.matrix", rounds.spec.c_str()}) {
        CAPTURE(std::string(spec));
        oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
        oracle::Placed const bare(MPI_COMM_WORLD, "block:1");
        int const own = PMPI_Alltoall(send.data(), 100, MPI_BYTE, receive.data(), 50, MPI_BYTE, bare.comm);
        CHECK(class_of(weft_alltoall(spec, send.data(), 100, MPI_BYTE, receive.data(), 50, MPI_BYTE, placed.comm)) ==
              class_of(own));
        CHECK(own != MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
#ifndef OPEN_MPI                         // refuses it on one rank by itself, and the others wait
        for (int const wrong : {1, 0}) { // one rank alone is
            oracle::Placed const fresh(MPI_COMM_WORLD, "block:1");
            MPI_Count const mine = ranks.me == wrong ? 100 : 50;
            weft_alltoall(spec, send.data(), mine, MPI_BYTE, receive.data(), 50, MPI_BYTE, fresh.comm);
            CHECK(std::string(weft_alltoall_ran()) == "pmpi");
            weft_alltoall(spec, send.data(), 50, MPI_BYTE, receive.data(), 50, MPI_BYTE, fresh.comm);
            CHECK(std::string(weft_alltoall_ran()) == "pmpi"); // for good
            MPI_Barrier(MPI_COMM_WORLD);
        }
#endif
    }
}
