// SPDX-License-Identifier: BSD-3-Clause
// Lifetime of communicators, threads, files of rounds, and progress of the application's own messages.
#include "hooked.hpp"

#include "state.hpp"

#include <chrono>
#include <fstream>
#include <thread>

namespace {

namespace a2a = weft::alltoall;

std::int64_t resident_kib() {
    std::ifstream file("/proc/self/statm");
    std::int64_t total = 0, resident = 0;
    file >> total >> resident;
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/// Delays every step, by different times on the ranks.
void dawdling(char const *) {
    static unsigned state = unsigned(getpid());
    state = state * 1664525u + 1013904223u;
    if (state >> 28 == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(state >> 20 & 1023));
    }
}

} // namespace

TEST_CASE("ten thousand communicators leave nothing behind") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    setenv("WEFT_NODES_FAKE", ranks.count == 2 ? "block:1" : "block:2", 1);
    int const times = ranks.count == 2 ? 10'000 : 1500; // four ranks on two cores wait for time slices
    oracle::Uniform uniform(16, ranks);
    std::int64_t before = 0;
    int open = 0;
    int const live = a2a::live_states();
    for (int i = 0; i < times; ++i) {
        if (i == times / 10) {
            before = resident_kib();
            open = oracle::descriptors();
        }
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        uniform.check(i % 2 == 0 ? "node.multi{nl=2}" : "node.direct", false, comm);
        MPI_Comm_free(&comm);
    }
    CHECK(a2a::live_states() == live);
    CHECK(oracle::segments_left() == 0);
    CHECK(oracle::descriptors() == open);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // the sanitizers keep freed memory
    CHECK(resident_kib() - before < 4096);                          // below half a KiB each of 9000
#endif
}

TEST_CASE("late ranks find staging as they left it") {
    oracle::Placed const placed(MPI_COMM_WORLD, "sizes:2,1,3", "4096");
    oracle::Uniform small(24, oracle::Ranks(MPI_COMM_WORLD)), large(1500, oracle::Ranks(MPI_COMM_WORLD));
    oracle::Hook const hook(dawdling);
    for (int i = 0; i < 15; ++i) {
        for (char const *spec : {"node.multi{nl=2}", "node.direct", "node.bruck"}) {
            CAPTURE(spec);
            small.check(spec, false, placed.comm);
            large.check(spec, false, placed.comm);
            oracle::check_v(
                spec, [i](int s, int t) { return (s * 5 + t * 3 + i) % 4 * 400; }, 0, false, false, placed.comm);
        }
    }
}

TEST_CASE("an attribute of the user's is not copied by us") {
    static int copies = 0;
    copies = 0;
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(
        [](MPI_Comm, int, void *, void *, void *, int *flag) { return ++copies, *flag = 0, MPI_SUCCESS; },
        MPI_COMM_NULL_DELETE_FN, &key, nullptr);
    oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
    MPI_Comm_set_attr(placed.comm, key, nullptr);
    oracle::Uniform(8, oracle::Ranks(placed.comm)).check("node.multi", false, placed.comm);
    CHECK(copies == 0);
    MPI_Comm_delete_attr(placed.comm, key);
    MPI_Comm_free_keyval(&key);
}

TEST_CASE("a message of the user's that needs our progress does not deadlock with a waiting node") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (ranks.count < 2) {
        return;
    }
    oracle::Placed const placed(MPI_COMM_WORLD, "block:2");
    oracle::Uniform uniform(64, ranks);
    uniform.check("node.multi", false, placed.comm);
    std::vector<char> large(8 << 20);
    for (char const *spec : {"node.multi", "node.direct", "node.bruck", "flat.window", "sched.matrix"}) {
        // rank 0 waits in the all-to-all while rank 1, of the same node, is still in a send that rank 0 must receive
        MPI_Request request = MPI_REQUEST_NULL;
        if (ranks.me == 0) {
            MPI_Irecv(large.data(), int(large.size()), MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
        } else if (ranks.me == 1) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            MPI_Send(large.data(), int(large.size()), MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        }
        uniform.check(spec, false, placed.comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

TEST_CASE("two threads on two communicators at once") {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (provided < MPI_THREAD_MULTIPLE) {
        MESSAGE("skipped: this MPI gives no MPI_THREAD_MULTIPLE");
        return;
    }
    oracle::Placed const one(MPI_COMM_WORLD, "block:2"), other(MPI_COMM_WORLD, "block:2");
    int wrong[2] = {0, 0};
    auto const work = [&](MPI_Comm comm, int which) { // no doctest in a thread: it is not made for that
        std::vector<int> send(std::size_t(ranks.count)), receive(send.size());
        for (int i = 0; i < 100; ++i) {
            for (int rank = 0; rank < ranks.count; ++rank) {
                send[std::size_t(rank)] = which * 1'000'000 + i * 1000 + ranks.me * 32 + rank;
            }
            char const *const spec = i % 3 == 0 ? "node.multi{nl=2}" : i % 3 == 1 ? "node.direct" : "bruck";
            wrong[which] +=
                weft_alltoall(spec, send.data(), 1, MPI_INT, receive.data(), 1, MPI_INT, comm) != MPI_SUCCESS;
            for (int rank = 0; rank < ranks.count; ++rank) {
                wrong[which] += receive[std::size_t(rank)] != which * 1'000'000 + i * 1000 + rank * 32 + ranks.me;
            }
        }
    };
    std::thread thread(work, one.comm, 0);
    work(other.comm, 1);
    thread.join();
    CHECK(wrong[0] == 0);
    CHECK(wrong[1] == 0);
}

TEST_CASE("intercommunicators go to the library") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (ranks.count < 2) {
        return;
    }
    MPI_Comm half = MPI_COMM_NULL, inter = MPI_COMM_NULL;
    bool const low = ranks.me < ranks.count / 2;
    MPI_Comm_split(MPI_COMM_WORLD, low ? 0 : 1, ranks.me, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? ranks.count / 2 : 0, 7, &inter);
    int others = 0;
    MPI_Comm_remote_size(inter, &others);
    std::vector<int> send(std::size_t(others), ranks.me), receive(send.size(), -1);
    CHECK(weft_alltoall("node.multi", send.data(), 1, MPI_INT, receive.data(), 1, MPI_INT, inter) == MPI_SUCCESS);
    CHECK(std::string(weft_alltoall_ran()) == "pmpi");
    for (int i = 0; i < others; ++i) {
        CHECK(receive[std::size_t(i)] == (low ? ranks.count / 2 : 0) + i);
    }
    std::vector<MPI_Count> const ones(std::size_t(others), 1);
    std::vector<MPI_Aint> places;
    for (int i = 0; i < others; ++i) {
        places.push_back(others - 1 - i);
    }
    CHECK(weft_alltoallv("bruck", send.data(), ones.data(), places.data(), MPI_INT, receive.data(), ones.data(),
                         places.data(), MPI_INT, inter) == MPI_SUCCESS);
    CHECK(receive[0] == (low ? ranks.count / 2 : 0) + others - 1);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

TEST_CASE("rounds from a file deliver all blocks; a file for other ranks falls back") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    oracle::Rounds const rounds(ranks);
    std::string const &spec = rounds.spec;
    oracle::Uniform uniform(77, ranks);
    oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
    uniform.check(spec.c_str(), false, placed.comm);
    CHECK(uniform.ran == (ranks.count == 1 ? "pmpi" : "sched"));
    uniform.check(spec.c_str(), true, placed.comm);
    oracle::check_v(spec.c_str(), [](int s, int t) { return (s + 2 * t) % 3 * 50; }, 1, false, false, placed.comm);
    if (ranks.count > 2) {
        MPI_Comm part = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, ranks.me == 0 ? MPI_UNDEFINED : 1, 0, &part);
        if (part != MPI_COMM_NULL) {
            // rank 0 of this communicator reads the file, too
            oracle::Uniform smaller(77, oracle::Ranks(part));
            smaller.check(spec.c_str(), false, part);
            CHECK(smaller.ran == "pmpi");
            MPI_Comm_free(&part);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}
