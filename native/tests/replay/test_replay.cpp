// SPDX-License-Identifier: BSD-3-Clause
#include "replay/counted.hpp"
#include "replay/player.hpp"

#include <doctest/doctest.h>

#include <climits>
#include <ctime>
#include <vector>

using namespace weft;

namespace {

std::vector<std::byte *> received_at;
std::vector<int> sent_counts; // of the last all-to-all
std::vector<int> sent_places;
MPI_Datatype sent_type = MPI_DATATYPE_NULL;
bool is_only_noted = false; // the all-to-all has no buffers

constexpr std::int64_t gib = std::int64_t{1} << 30;

Action action(Act act, std::int64_t bytes, std::int64_t received, std::int64_t value = -1, std::int64_t offset = 0) {
    return {act, 0, 0, 0, 0, bytes, received, value, offset};
}

Script script_of(Team const &team, std::vector<Action> actions, std::vector<std::int64_t> counts = {}) {
    Script script;
    script.ranks = team.size;
    script.send_bytes = script.receive_bytes = 4096;
    script.slots = 4;
    script.actions = std::move(actions);
    script.counts = std::move(counts);
    return script;
}

std::int64_t play_ns(Team const &team, Script const &script, double compute) {
    Player player(team, script, compute, AllToAll());
    player.allocate();
    std::int64_t const began = platform::now_ns();
    player.play();
    return platform::now_ns() - began;
}

} // namespace

/// Replaces the library's function, to see where messages are received.
int MPI_Irecv(void *into, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
    received_at.push_back(static_cast<std::byte *>(into));
    return PMPI_Irecv(into, count, type, from, tag, comm, request);
}

/// Replaces the library's function, to see counts that no machine of this test has the memory for.
int MPI_Alltoallv(void const *from, int const *counts, int const *places, MPI_Datatype type, void *into,
                  int const *their_counts, int const *their_places, MPI_Datatype their_type, MPI_Comm comm) {
    int ranks = 0;
    PMPI_Comm_size(comm, &ranks);
    sent_counts.assign(counts, counts + ranks);
    sent_places.assign(places, places + ranks);
    sent_type = type;
    return is_only_noted
               ? MPI_SUCCESS
               : PMPI_Alltoallv(from, counts, places, type, into, their_counts, their_places, their_type, comm);
}

TEST_CASE("a rank leaves its core to others while it plays a long computation") {
    Team const team = make_team(MPI_COMM_SELF);
    timespec before{};
    timespec after{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    std::int64_t const took = play_ns(team, script_of(team, {action(Act::compute, 0, 0, 50'000'000)}), 1.0);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    CHECK(took >= 50'000'000);
    CHECK((after.tv_sec - before.tv_sec) * 1'000'000'000 + after.tv_nsec - before.tv_nsec < 25'000'000);
}

TEST_CASE("messages under way together are received at places of their own") {
    Team const team = make_team(MPI_COMM_WORLD);
    std::vector<Action> actions{action(Act::ireceive, 0, 100, 0, 0), action(Act::ireceive, 0, 100, 1, 128),
                                action(Act::isend, 100, 0, 2), action(Act::isend, 100, 0, 3)};
    for (Action &each : actions) {
        each.peer = (team.rank + 1) % team.size; // of two ranks the other, of one itself
    }
    for (std::int64_t slot = 0; slot < 4; ++slot) {
        actions.push_back(action(Act::wait, 0, 0, slot));
    }
    received_at.clear();
    play_ns(team, script_of(team, actions), 1.0);
    REQUIRE(received_at.size() == 2);
    CHECK(received_at[1] - received_at[0] == 128);
}

TEST_CASE("computation takes as long as it did, times what was asked for") {
    Team const team = make_team(MPI_COMM_WORLD);
    Script const short_one = script_of(team, {action(Act::compute, 0, 0, 2'000'000)});
    CHECK(play_ns(team, short_one, 3.0) >= 6'000'000);
    Script const long_one = script_of(team, {action(Act::compute, 0, 0, 60'000'000'000)});
    CHECK(play_ns(team, long_one, 0.0) < 30'000'000'000);
}

TEST_CASE("parts of over 2 GiB together are counted in elements of 8 bytes, each at its own place") {
    Team const team = make_team(MPI_COMM_SELF);
    Script const script = script_of(team, {action(Act::alltoallv, 0, 0, 0)}, {3 * gib, 3 * gib});
    Player player(team, script, 1.0, AllToAll());
    is_only_noted = true;
    player.play();
    is_only_noted = false;
    CHECK(sent_type == MPI_UINT64_T);
    CHECK(sent_counts == std::vector<int>{int(3 * gib / 8)});

    std::vector<std::int64_t> const bytes{gib, gib, gib, 8};
    std::vector<int> counts;
    std::vector<int> places;
    int const unit = unit_of(bytes, action(Act::gather, 8, 0, 0));
    CHECK(unit == 8);
    set_parts(bytes, unit, counts, places);
    CHECK(places == std::vector<int>{0, int(gib / 8), int(2 * gib / 8), int(3 * gib / 8)});
    CHECK(counts.back() == 1);
    CHECK(unit_of(std::vector<std::int64_t>{100, 28}, action(Act::gather, 100, 0, 0)) == 1); // as the application did
}

TEST_CASE("what no call can count is refused with its number, never cut") {
    Team const team = make_team(MPI_COMM_SELF);
    std::vector<int> const sizes{1};
    auto const refused = [&](Action const &one, std::vector<std::int64_t> counts = {}) {
        auto const why = uncountable_action(script_of(team, {action(Act::barrier, 0, 0), one}, counts), sizes);
        CHECK((!why || why->find("action 1 of the script gives " + std::to_string(one.bytes)) == 0));
        return why.has_value();
    };
    CHECK_FALSE(refused(action(Act::send, 16 * gib - 8, 0)));
    CHECK(refused(action(Act::send, 16 * gib, 0)));
    CHECK(refused(action(Act::receive, 0, 16 * gib)));
    CHECK_FALSE(refused(action(Act::allreduce, 2 * gib, 2 * gib)));
    CHECK(refused(action(Act::allreduce, 2 * gib + 1, 2 * gib + 1))); // bytes, not doubles
    CHECK_FALSE(refused(action(Act::alltoallv, 0, 0, 0), {3 * gib, 3 * gib}));
    CHECK(refused(action(Act::alltoallv, 0, 0, 0), {3 * gib + 1, 3 * gib + 1}));
    CHECK(refused(action(Act::gather, 2 * gib + 4, 0, 0), {8}));
    CHECK_FALSE(refused(action(Act::compute, 0, 0, 1 << 30)));
    CHECK(Counted(2 * gib + 1).count == int(gib / 4 + 1));
    CHECK(Counted(INT_MAX).type == MPI_BYTE);
}
