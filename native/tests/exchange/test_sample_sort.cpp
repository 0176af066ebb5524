// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/joint_proof.hpp"
#include "exchange/sample_sort.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

using namespace weft;

namespace {

/// Keys from any function of their index.
class MadeKeys final : public KeySource {
  public:
    explicit MadeKeys(std::function<double(std::uint64_t)> key) : key_(std::move(key)) {}
    void keys(std::uint64_t first, std::span<double> out) override {
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = key_(first + i);
    }

  private:
    std::function<double(std::uint64_t)> key_;
};

void run_steps(SampleSort &sort) {
    sort.sort_locally();
    sort.exchange_counts();
    sort.exchange_vectors();
    sort.merge();
}

/// The concatenated keys of all ranks, on every rank.
std::vector<double> all_sorted_keys(Team const &team, ConstVectors sorted) {
    std::vector<double> mine;
    for (std::uint64_t i = 0; i < sorted.count; ++i)
        mine.push_back(sorted.key(i));
    int const count = static_cast<int>(mine.size());
    std::vector<int> counts(static_cast<std::size_t>(team.size));
    PMPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, team.comm);
    std::vector<int> places{0};
    for (int const c : counts)
        places.push_back(places.back() + c);
    std::vector<double> all(static_cast<std::size_t>(places.back()));
    PMPI_Allgatherv(mine.data(), count, MPI_DOUBLE, all.data(), counts.data(), places.data(), MPI_DOUBLE, team.comm);
    return all;
}

/// Sorts twice and compares with std::sort of all keys.
void check_sorts(Team const &team, KeySource &source, std::uint64_t n, std::uint64_t m) {
    std::vector<double> expected(n);
    source.keys(0, expected);
    std::sort(expected.begin(), expected.end());
    SampleSort sort(team, n, m);
    for (int round = 0; round < 2; ++round) {
        sort.fill(source);
        auto const before = contents_of(sort.unsorted());
        run_steps(sort);
        CHECK(all_sorted_keys(team, sort.sorted()) == expected);
        CHECK(check_sorted(team.rank, sort.sorted()).count == 0);
        CHECK(check_order_across(team, sort.sorted()).count == 0);
        CHECK(check_preserved(team, before, contents_of(sort.sorted())).count == 0);
        CHECK(sort.sorted().count <= Sampling{Share{n, team.size}}.receive_bound());
    }
}

} // namespace

TEST_CASE("any data of any length is sorted, whether p divides n or exceeds it") {
    auto const team = make_team(MPI_COMM_WORLD);
    for (auto const *data : {"uniform", "skewed", "reverse"})
        for (std::uint64_t n : {1, 3, 8, 9, 1001})
            for (std::uint64_t m : {1, 3}) {
                CAPTURE(data);
                CAPTURE(n);
                check_sorts(team, *make_key_source({data, n, 11, 1, {}}), n, m);
            }
}

TEST_CASE("equal keys are sorted and spread evenly") {
    auto const team = make_team(MPI_COMM_WORLD);
    MadeKeys keys([](std::uint64_t) { return 4.0; });
    auto const share = std::uint64_t{1000};
    auto const n = share * static_cast<std::uint64_t>(team.size);
    check_sorts(team, keys, n, 1);
    SampleSort sort(team, n, 1);
    sort.fill(keys);
    run_steps(sort);
    CHECK(sort.sorted().count >= share - share / 8);
    CHECK(sort.sorted().count <= share + share / 8);
}

TEST_CASE("infinite and negative keys are sorted like any other") {
    auto const team = make_team(MPI_COMM_WORLD);
    auto const inf = std::numeric_limits<double>::infinity();
    MadeKeys keys([&](std::uint64_t g) { return g % 3 == 0 ? inf : g % 3 == 1 ? -inf : -static_cast<double>(g); });
    check_sorts(team, keys, 500, 2);
}

TEST_CASE("data in order stays where it is and reverse data crosses over to the mirror rank") {
    auto const team = make_team(MPI_COMM_WORLD);
    auto const n = std::uint64_t{64} * static_cast<std::uint64_t>(team.size);
    MadeKeys in_order([](std::uint64_t g) { return static_cast<double>(g); });
    check_sorts(team, in_order, n, 3);
    auto const reverse = make_key_source({"reverse", n, 1, 1, {}});
    SampleSort sort(team, n, 1);
    sort.fill(*reverse);
    run_steps(sort);
    CHECK(sort.sorted().count == 64);
    CHECK(sort.sorted().key(0) == static_cast<double>(team.rank) * 64 + 1);
}

TEST_CASE("an exchange that did not happen cannot pass for one that did") {
    auto const team = make_team(MPI_COMM_WORLD);
    auto const source = make_key_source({"uniform", 1000, 3, 1, {}});
    SampleSort sort(team, 1000, 2);
    sort.fill(*source);
    auto const before = contents_of(sort.unsorted());
    run_steps(sort); // leaves a good result of the same keys in both arrays
    sort.fill(*source);
    sort.sort_locally();
    sort.spoil_received();
    sort.exchange_counts();
    // no exchange_vectors(): the merge reads overwritten data
    sort.merge();
    auto flaws = check_sorted(team.rank, sort.sorted());
    flaws.join(check_preserved(team, before, contents_of(sort.sorted())));
    CHECK(flaws.count > 0);
}

TEST_CASE("one flipped bit is found by the checksum and named on the last rank") {
    auto const team = make_team(MPI_COMM_WORLD);
    auto const source = make_key_source({"uniform", 1000, 3, 1, {}});
    SampleSort sort(team, 1000, 1);
    sort.fill(*source);
    auto const before = contents_of(sort.unsorted());
    run_steps(sort);
    if (team.rank == 0) {
        auto &key = sort.sorted().key(3);
        key = std::bit_cast<double>(std::bit_cast<std::uint64_t>(key) ^ 1);
    }
    auto const flaws = check_preserved(team, before, contents_of(sort.sorted()));
    CHECK(flaws.count == (team.rank == team.size - 1 ? 1 : 0));
    if (team.rank == team.size - 1)
        CHECK(flaws.first.find("the checksum of all elements was ") == 0);
}

TEST_CASE("a lost vector is found and both numbers are told") {
    auto const team = make_team(MPI_COMM_WORLD);
    Contents const before{10, 5};
    Contents const after{team.rank == 0 ? 9u : 10u, 5};
    auto const flaws = check_preserved(team, before, after);
    CHECK(flaws.count == (team.rank == team.size - 1 ? 1 : 0));
    if (team.rank == team.size - 1) {
        auto const all = 10 * team.size;
        CHECK(flaws.first == "all ranks together held " + std::to_string(all) + " vectors before and hold " +
                                 std::to_string(all - 1) + " after");
    }
}

TEST_CASE("order across ranks is checked over ranks that hold nothing") {
    auto const team = make_team(MPI_COMM_WORLD);
    bool const holds = team.rank % 2 == 0;
    double key = team.rank;
    Vectors const mine{&key, holds ? 1u : 0u, 1};
    CHECK(check_order_across(team, mine).count == 0);
    key = -team.rank; // descending: every rank with keys except the first is wrong
    auto const flaws = check_order_across(team, mine);
    CHECK(flaws.count == (holds && team.rank > 0 ? 1 : 0));
    if (holds && team.rank == 2)
        CHECK(flaws.first == "rank 2: vector 0 holds key -2 after key 0 on rank 0");
    if (team.rank % 2 == 0)
        key = team.rank == 0 ? std::numeric_limits<double>::quiet_NaN() : 1.0;
    CHECK(check_order_across(team, mine).count == (team.rank == 2 ? 1 : 0));
}

TEST_CASE("the need of a sort counts what it allocates") {
    Need need;
    SampleSort::add_need(need, 4000000, 16, 0, 4);
    REQUIRE(need.parts.size() == 6);
    auto const bound = static_cast<std::int64_t>(Sampling{Share{4000000, 4}}.receive_bound());
    CHECK(bound <= 1000000 + 1000000 / 15);
    CHECK(need.parts[0].name == "unsorted");
    CHECK(need.parts[0].bytes == bound * 16 * 8);
    CHECK(need.parts[1].bytes == bound * 16 * 8);
    CHECK(need.parts[2].bytes == 1000000 * 16);
    CHECK(need.parts[3].bytes == 4 * 4 * 4 + 2 * 5 * 8 + 2 * 4 * 4);
    CHECK(need.parts[4].bytes == (64 + 3 + 4 * 64) * 16);
    Need keys_only;
    SampleSort::add_need(keys_only, 4000000, 1, 1, 4);
    CHECK(keys_only.parts[2].bytes == 0);
    CHECK(keys_only.parts[4].bytes == (64 + 3) * 16);
}
