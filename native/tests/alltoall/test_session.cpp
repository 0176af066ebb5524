// SPDX-License-Identifier: BSD-3-Clause
// A whole session of the interposer: prewarmed, verified from two threads, a wrong result planted, and the report. The
// tests are in the order of a job: there is one session in a process.
#include "hooked.hpp"

#include "call.hpp"
#include "common/json_value.hpp"
#include "intercept.hpp"
#include "session.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

using namespace weft::alltoall;
using namespace weft::interpose;
using namespace weft::json;
using weft::alltoall::AlltoallCall;

namespace {

std::string path() {
    int parent = int(getppid()); // one for all ranks
    MPI_Bcast(&parent, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return "/tmp/weft-session-" + std::to_string(parent);
}

Value report() {
    std::ostringstream text;
    text << std::ifstream(path()).rdbuf();
    return weft::json::parse(text.str());
}

int sends = 0;
int sends_before_wait = 0;
bool waited = false;

void counting(char const *step) {
    waited = waited || std::strcmp(step, "wait") == 0;
    sends += std::strcmp(step, "send") == 0 ? 1 : 0;
    sends_before_wait += std::strcmp(step, "send") == 0 && !waited ? 1 : 0;
}

/// Calls of MPI_Alltoall on a communicator; returns how many numbers were wrong, and how many calls failed.
int calls_on(MPI_Comm comm, int count, int salt, int &failed) {
    oracle::Ranks const ranks(comm);
    int wrong = 0;
    std::vector<int> send(std::size_t(ranks.count)), receive(send.size());
    for (int i = 0; i < count; ++i) {
        for (int rank = 0; rank < ranks.count; ++rank) {
            send[std::size_t(rank)] = salt + i * 1000 + ranks.me * 32 + rank;
        }
        AlltoallCall<int> const call{send.data(), 1, MPI_INT, receive.data(), 1, MPI_INT, comm};
        failed += intercept(call, "MPI_Alltoall") == MPI_SUCCESS ? 0 : 1;
        for (int rank = 0; rank < ranks.count; ++rank) {
            wrong += receive[std::size_t(rank)] == salt + i * 1000 + rank * 32 + ranks.me ? 0 : 1;
        }
    }
    return wrong;
}

unsigned char *victim = nullptr;
int unpacked = 0;

/// Spoils a byte of the block that was unpacked first, before the second one is.
void spoiling(char const *step) {
    if (std::strcmp(step, "unpack") == 0 && unpacked++ == 1) {
        *victim ^= 1;
    }
}

/// Begins the session of this process, once.
void begin_session() {
    setenv("WEFT_ALLTOALL", "node.multi{nl=2}", 1);
    setenv("WEFT_VERIFY", "2", 1);
    setenv("WEFT_REPORT", path().c_str(), 1);
    setenv("WEFT_PREWARM", "1", 1);
    setenv("WEFT_NODES_FAKE", "block:1", 1);
    session().begin();
}

std::atomic<int> handled{0};

void noting(MPI_Comm *, int *, ...) {
    ++handled;
}

} // namespace

TEST_CASE("a job is warmed by a message between all ranks, four at a time, and its report is not complete yet") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    {
        oracle::Hook const hook(counting);
        begin_session();
    }
    CHECK(session().active());
    CHECK(sends == ranks.count - 1);
    CHECK(sends_before_wait <= 4);
    MPI_Barrier(MPI_COMM_WORLD);
    if (ranks.me == 0) {
        CHECK_FALSE(*report().get<Object>()->at("complete").get<bool>());
    }
}

TEST_CASE("every second call on two communicators of two threads is verified") {
    begin_session();
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    oracle::Placed const one(MPI_COMM_WORLD, "block:1"), other(MPI_COMM_WORLD, "block:1");
    int wrong = 0, failed = 0;
    if (provided < MPI_THREAD_MULTIPLE) {
        MESSAGE("one thread only: this MPI gives no MPI_THREAD_MULTIPLE");
        wrong = calls_on(one.comm, 40, 1'000'000, failed);
        wrong += calls_on(other.comm, 40, 2'000'000, failed);
    } else {
        int its_wrong = 0, its_failed = 0;
        std::thread thread([&] { its_wrong = calls_on(one.comm, 40, 1'000'000, its_failed); });
        wrong = calls_on(other.comm, 40, 2'000'000, failed);
        thread.join();
        wrong += its_wrong;
        failed += its_failed;
    }
    CHECK(wrong == 0);
    CHECK(failed == 0);
}

TEST_CASE("a wrong algorithm is caught at the next verified call, on its communicator, and told with block and byte") {
    begin_session();
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (ranks.count < 2) {
        return;
    }
    oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(noting, &handler);
    MPI_Comm_set_errhandler(placed.comm, handler);
    MPI_Errhandler_free(&handler);
    int const bytes = 100, before = (ranks.me + ranks.count - 1) % ranks.count; // whose block is unpacked first
    std::vector<unsigned char> send(std::size_t(bytes * ranks.count), 7), receive(send.size());
    AlltoallCall<int> const call{send.data(), bytes, MPI_BYTE, receive.data(), bytes, MPI_BYTE, placed.comm};
    victim = receive.data() + before * bytes + 42;
    for (int const number : {1, 2}) {
        unpacked = 0;
        oracle::Hook const hook(spoiling);
        int const code = intercept(call, "MPI_Alltoall");
        CHECK((code != MPI_SUCCESS) == (number == 2)); // the first is not verified
        CHECK(handled == (number == 2 ? 1 : 0));
    }
    std::string const said = weft_alltoall_error();
    CHECK(said.find("from rank " + std::to_string(before) + " differs at byte 42") != std::string::npos);
    CHECK(intercept(call, "MPI_Alltoall") == MPI_SUCCESS); // and the communicator can be used
}

TEST_CASE("calls are counted from one on each of many communicators that come and go") {
    begin_session();
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
    std::vector<unsigned char> const send(std::size_t(ranks.count), 7);
    std::vector<unsigned char> receive(send.size());
    victim = receive.data();
    oracle::Hook const hook(spoiling);
    MPI_Comm before = MPI_COMM_NULL;
    for (int i = 0; i < 20; ++i) {
        std::array<MPI_Comm, 4> made{};
        for (MPI_Comm &comm : made) {
            PMPI_Comm_dup(placed.comm, &comm);
        }
        // a library gives the handle of a freed one to another: that of the last call, if any has it
        auto which = std::find(made.begin(), made.end(), before) - made.begin();
        which = which < std::ssize(made) ? which : 0;
        PMPI_Bcast(&which, 1, MPI_INT64_T, 0, placed.comm);
        before = made[std::size_t(which)];
        unpacked = 0;
        AlltoallCall<int> const call{send.data(), 1, MPI_BYTE, receive.data(), 1, MPI_BYTE, before};
        CHECK(intercept(call, "MPI_Alltoall") == MPI_SUCCESS); // the first: none is verified
        for (MPI_Comm &comm : made) {
            PMPI_Comm_free(&comm);
        }
    }
}

TEST_CASE("the report is complete at the end, with what was verified, what differed and the time saved") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    session().end();
    CHECK_FALSE(session().active());
    if (ranks.me == 0) {
        Value const whole = report();
        Object const &object = *whole.get<Object>();
        CHECK(*object.at("complete").get<bool>());
        double calls = 0, verified = 0, different = 0;
        for (Value const &each : *object.at("calls").get<Array>()) {
            Object const &line = *each.get<Object>();
            calls += *line.at("calls").get<double>();
            verified += *line.at("verified").get<double>();
            different += *line.at("different").get<double>();
            CHECK((line.at("saved_seconds").get<double>() != nullptr) == (*line.at("verified").get<double>() > 0));
        }
        CHECK(calls == 100 + (ranks.count > 1 ? 3 : 0));
        CHECK(verified == (ranks.count > 1 ? 41 : 0));
        CHECK(different == (ranks.count > 1 ? ranks.count : 0)); // on each rank
        CHECK_FALSE(std::filesystem::exists(path() + ".part"));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (ranks.me == 0) {
        std::filesystem::remove(path());
    }
    for (char const *name : {"WEFT_ALLTOALL", "WEFT_VERIFY", "WEFT_REPORT", "WEFT_PREWARM", "WEFT_NODES_FAKE"}) {
        unsetenv(name);
    }
}
