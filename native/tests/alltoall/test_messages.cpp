// SPDX-License-Identifier: BSD-3-Clause
// The number of messages that each algorithm sends.
#include "hooked.hpp"

#include "nodes.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace {

int sent = 0;

void counting(char const *step) {
    sent += std::strcmp(step, "send") == 0 ? 1 : 0;
}

int started = 0;
bool waited = false;

/// Messages that a rank starts before it waits for any.
void starting(char const *step) {
    waited = waited || std::strcmp(step, "wait") == 0;
    bool const message = std::strcmp(step, "send") == 0 || std::strcmp(step, "receive") == 0;
    started += message && !waited ? 1 : 0;
}

/// Number of messages of all ranks in one call.
int messages(char const *spec, std::int64_t bytes, MPI_Comm comm) {
    oracle::Uniform uniform(bytes, oracle::Ranks(comm));
    uniform.check(spec, false, comm);
    sent = 0;
    oracle::Hook const hook(counting);
    uniform.check(spec, false, comm);
    int all = 0;
    MPI_Allreduce(&sent, &all, 1, MPI_INT, MPI_SUM, comm);
    return all;
}

int digits(int members) {
    int count = 0;
    for (int reach = 1; reach < members; reach *= 2) {
        ++count;
    }
    return count;
}

} // namespace

TEST_CASE("a pair of nodes costs one message, a rank and a node one, a pair of ranks one, or a digit one") {
    int const p = oracle::Ranks(MPI_COMM_WORLD).count;
    for (char const *fake : {"block:3", "cyclic:2", "sizes:1,3", "block:1"}) {
        CAPTURE(fake);
        weft::alltoall::Nodes const nodes(weft::alltoall::fake_labels(fake, p));
        int const n = nodes.count();
        oracle::Placed const placed(MPI_COMM_WORLD, fake);
        if (n > 1) {
            for (char const *spec : {"node.multi{nl=1}", "node.multi{nl=2}", "node.multi{nl=64}"}) {
                CHECK(messages(spec, 512, placed.comm) == n * (n - 1));
            }
            CHECK(messages("node.direct", 512, placed.comm) == p * (n - 1));
            CHECK(messages("node.bruck{r=2}", 512, placed.comm) == nodes.smallest() * n * digits(n));
        }
        CHECK(messages("flat.window", 512, placed.comm) == p * (p - 1));
        bool const by_nodes = n > 1 && nodes.largest() > 1;
        CHECK(messages("sched.matrix", 512, placed.comm) == (by_nodes ? n * (n - 1) : p * (p - 1)));
        CHECK(messages("sched.matrix", 8192, placed.comm) == p * (p - 1));
        CHECK(messages("bruck{r=2}", 512, placed.comm) == p * digits(p));
        CHECK(messages("flat.window", 0, placed.comm) == 0);
    }
}

TEST_CASE("large streams between nodes are cut into pieces of at least 16 KiB, as many as there are stages") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (ranks.count != 4) {
        return;
    }
    oracle::Placed const placed(MPI_COMM_WORLD, "block:2"); // two nodes, a stream of 4 blocks each way
    CHECK(messages("node.multi{stages=1}", 65'536, placed.comm) == 2);
    CHECK(messages("node.multi{stages=3}", 65'536, placed.comm) == 2 * 3);
    CHECK(messages("node.multi{stages=64}", 65'536, placed.comm) == 2 * 16);
    CHECK(messages("node.multi{stages=64}", 4097, placed.comm) == 2 * 2);
    CHECK(messages("node.multi{stages=64}", 4096, placed.comm) == 2);
}

TEST_CASE(
    "sched.matrix cuts blocks up to 256 KiB into messages of at most 60 KiB, of any data and with counts that change") {
    int const p = oracle::Ranks(MPI_COMM_WORLD).count;
    oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
    CHECK(messages("sched.matrix", 61'440, placed.comm) == p * (p - 1));
    CHECK(messages("sched.matrix", 61'441, placed.comm) == 2 * p * (p - 1));
    CHECK(messages("sched.matrix{w=1}", 122'881, placed.comm) == 3 * p * (p - 1));
    CHECK(messages("sched.matrix", 262'145, placed.comm) == p * (p - 1));
    for (int const length : {200'003, 99, 61'442}) { // the last order may be of older counts
        auto const sizes = [length](int s, int t) { return (s + t) % 3 == 0 ? 0 : length + s + t; };
        oracle::check_v("sched.matrix", sizes, 3, true, false, placed.comm);
        oracle::check_v("sched.matrix", sizes, 0, false, true, placed.comm);
    }
}

TEST_CASE("an alltoallv of nothing but one block sends one message, and no metadata") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (ranks.count < 4) {
        return;
    }
    for (char const *spec : {"node.multi{nl=2}", "node.direct", "flat.window", "sched.matrix"}) {
        CAPTURE(spec);
        oracle::Placed const placed(MPI_COMM_WORLD, "block:2");
        sent = 0;
        oracle::Hook const hook(counting);
        oracle::check_v(spec, [](int s, int t) { return s == 0 && t == 3 ? 999 : 0; }, 0, false, false, placed.comm);
        int all = 0;
        MPI_Allreduce(&sent, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(all == 1);
    }
}

TEST_CASE("the ranks of a node together have no more messages under way than a node may have") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    setenv("WEFT_REQUESTS_PER_NODE", "4", 1);
    // with 7 ranks all have more messages than may be under way: on nodes of one rank, or of two that share the four
    for (auto const &[fake, spec] : {std::pair{"block:1", "node.multi{nl=1,stages=1}"},
                                     {"block:1", "node.direct{w=64}"},
                                     {"block:1", "flat.window{w=64}"},
                                     {"block:2", "node.multi{nl=2,stages=1}"},
                                     {"block:2", "flat.window{w=64}"},
                                     {"block:1", "sched.matrix{w=64}"},
                                     {"block:2", "sched.matrix{w=64}"}}) {
        CAPTURE(fake);
        CAPTURE(spec);
        weft::alltoall::Nodes const nodes(weft::alltoall::fake_labels(fake, ranks.count));
        oracle::Placed const placed(MPI_COMM_WORLD, fake);
        oracle::Uniform uniform(spec == std::string("sched.matrix{w=64}") ? 8192 : 512, ranks);
        started = 0;
        waited = false;
        oracle::Hook const hook(starting);
        uniform.check(spec, false, placed.comm);
        CHECK(started * nodes.size_of(nodes.node_of(ranks.me)) <= 4);
    }
    unsetenv("WEFT_REQUESTS_PER_NODE");
}
