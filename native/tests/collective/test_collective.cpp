// SPDX-License-Identifier: BSD-3-Clause
#include "collective/collective_calls.hpp"
#include "collective/collective_data.hpp"
#include "collective/mock_ups.hpp"
#include "measured_cell.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

/// Calls of MPI_Alltoall with counts that are ints: the public name is the tests' own here.
static int narrow_calls = 0;
static int slow_calls = 0; ///< the next ones of 1000 bytes, which take 0.2 s

extern "C" int MPI_Alltoall(void const *from, int sent, MPI_Datatype type, void *to, int received, MPI_Datatype into,
                            MPI_Comm comm) {
    ++narrow_calls;
    if (sent == 1000 && slow_calls > 0) {
        --slow_calls;
        weft::platform::sleep_ns(200'000'000);
    }
    return PMPI_Alltoall(from, sent, type, to, received, into, comm);
}

namespace {
using Values = MeasuredCell::Values;

MeasuredCell measured(std::string const &collective, Values more = {}) {
    more.insert({{"collective", collective}, {"bytes", "8 20480"}});
    return {"collective", std::move(more)};
}

bool is_rooted(std::string const &collective) {
    return weft::collective_named(collective).rooted;
}

std::vector<std::string> names(bool (*wanted)(weft::Collective const &) = [](auto const &) { return true; }) {
    std::vector<std::string> found;
    for (weft::Collective const &collective : weft::collectives()) {
        if (wanted(collective)) {
            found.emplace_back(collective.name);
        }
    }
    return found;
}

void check_proven(MeasuredCell &cell, std::string const &what) {
    CAPTURE(what);
    weft::Validation const &validation = cell.run();
    CAPTURE(validation.detail);
    CHECK(validation.performed);
    CHECK(validation.errors == 0);
}

} // namespace

TEST_CASE("calls with a root are timed one by one, whether it rotates or not: a batch of them would pipeline") {
    for (auto const *root : {"-1", "0"}) {
        for (auto const &name : names([](weft::Collective const &each) { return each.rooted; })) {
            CAPTURE(name);
            auto cell = measured(name, {{"bytes", "8"}, {"root", root}});
            cell.run();
            weft::Segment const *const warm = cell.segment(name + "@8", weft::Phase::warm);
            REQUIRE(warm != nullptr);
            CHECK(warm->batch == 1);
        }
    }
}

TEST_CASE("every collective brings every byte where it belongs, also by a datatype with gaps") {
    for (auto const &name : names()) {
        auto cell = measured(name);
        check_proven(cell, name);
    }
    for (auto const &name : names([](auto const &what) { return !what.reduces; })) {
        auto gaps = measured(name, {{"form", "vector"}, {"bytes", "1000"}});
        check_proven(gaps, name);
    }
    auto odd = measured("alltoall", {{"bytes", "1 3 13 4097"}}); // no power of two and no word divides them
    check_proven(odd, "odd sizes");
}

TEST_CASE("also in place") {
    for (auto const &name : names([](auto const &what) { return what.in_place; })) {
        auto cell = measured(name, {{"form", "inplace"}, {"bytes", "8 1000"}});
        check_proven(cell, name);
        CHECK(cell.segments().find(name + "-inplace@8 cold") == 0);
    }
}

TEST_CASE("also with a fixed root") {
    int size = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    for (auto const &name : names([](auto const &what) { return what.rooted; })) {
        auto cell = measured(name, {{"root", std::to_string(size - 1)}, {"bytes", "1000"}});
        check_proven(cell, name);
    }
}

TEST_CASE("also with blocks that differ, some of them empty") {
    int size = 0;
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    std::string weights = "3";
    for (int i = 1; i < size * size; ++i) {
        weights += " " + std::to_string(i % 5);
    }
    for (auto const *pattern : {"linear", "heavy", "matrix", "zipf2.5"}) {
        for (auto const *form : {"plain", "vector"}) {
            Values values{{"pattern", pattern}, {"form", form}, {"bytes", "1000"}};
            if (pattern[0] == 'm' || pattern[0] == 'z') {
                values["weights"] = weights;
            }
            auto cell = measured("alltoallv", values);
            check_proven(cell, pattern);
            CHECK(cell.segments().find("alltoallv-" + std::string(pattern)) == 0);
        }
    }
}

TEST_CASE("every mock-up brings every byte where the call brings it, also in uneven shares") {
    for (auto const &name : names()) {
        std::string words = "larger split fewer";
        for (weft::MockUp const &each : weft::mock_ups()) {
            words += each.of == name ? " " + std::string(each.name) : "";
        }
        auto cell = measured(name, {{"bytes", "8 40 1000"}, {"guidelines", words}});
        check_proven(cell, words);
        for (weft::MockUp const &each : weft::mock_ups()) {
            auto const *const warm = cell.segment(name + "@40:" + std::string(each.name), weft::Phase::warm);
            CHECK((warm != nullptr || each.of != name));
        }
        CHECK(cell.segment(name + "@8:larger", weft::Phase::warm) != nullptr);
        CHECK(cell.segment(name + "@1000:fewer", weft::Phase::warm) != nullptr);
        bool const reduces = weft::collective_named(name).reduces;
        CHECK((cell.segment(name + "@8:split", weft::Phase::warm) == nullptr) == reduces); // half a double
    }
}

TEST_CASE("a size that would take too long with its guidelines is left out, but for the smallest") {
    auto cell = measured("bcast", {{"bytes", "8 1000"}, {"guidelines", "split"}, {"within_ns", "1"}});
    check_proven(cell, "split");
    CHECK(cell.segment("bcast@8:split", weft::Phase::warm) != nullptr);
    CHECK(cell.segment("bcast@1000", weft::Phase::warm) == nullptr);
    auto whole = measured("bcast", {{"bytes", "8 1000"}, {"guidelines", "split"}, {"within_ns", "900000000000"}});
    check_proven(whole, "split");
    CHECK(whole.segment("bcast@1000", weft::Phase::warm) != nullptr);
}

TEST_CASE("a size is not left out for a long first call, but for long calls") {
    for (auto const &[slow, kept] : {std::pair{1000, false}, {1, true}, {2, true}}) {
        slow_calls = slow;
        auto cell = measured("alltoall", {{"bytes", "8 1000"}, {"guidelines", "split"}, {"within_ns", "1600000000"}});
        check_proven(cell, std::to_string(slow));
        CHECK((cell.segment("alltoall@1000", weft::Phase::warm) != nullptr) == kept);
        CHECK(slow_calls == (kept ? 0 : 1000 - 4));
    }
}

TEST_CASE("a guideline holds plain calls alone, and by words that are known") {
    auto in_place = measured("allreduce", {{"form", "inplace"}, {"guidelines", "split"}});
    CHECK(refusal_of(in_place).find("about a plain call") != std::string::npos);
    auto unknown = measured("bcast", {{"guidelines", "gather"}});
    CHECK_THROWS_AS(unknown.run(), weft::Failure);
}

TEST_CASE("one bit that is wrong makes the cell invalid, with the call and the size named") {
    PlantedFault const fault("corrupt");
    for (auto const &name : names()) {
        auto cell = measured(name, {{"bytes", "1000"}});
        if (cell.team().size == 1 && name == "bcast") {
            continue; // no rank receives data
        }
        weft::Validation const &validation = cell.run();
        CAPTURE(name);
        CHECK(validation.errors > 0);
        CHECK(validation.detail.find(name + " of ") != std::string::npos);
        CHECK(validation.detail.find("not what was expected") != std::string::npos);
    }
}

TEST_CASE("the first calls come in the order of the sizes, then each size is measured, and the barrier as floor") {
    auto cell = measured("allgather", {{"bytes", "8 64 512"}});
    cell.run();
    std::string const segments = cell.segments();
    CHECK(segments.find("allgather@8 cold, allgather@64 cold, allgather@512 cold, ") == 0);
    for (auto const *op : {"allgather@8", "allgather@64", "allgather@512", "barrier"}) {
        weft::Segment const *const warm = cell.segment(op, weft::Phase::warm);
        REQUIRE(warm != nullptr);
        CHECK(warm->count >= 1);
    }
    CHECK(segments.find("barrier cold, barrier warm") == segments.size() - 26);
}

TEST_CASE("memory is counted as it is allocated, with p blocks where the call has them") {
    auto const bytes_of = [](weft::Need const &need, std::string const &part) {
        for (auto const &found : need.parts) {
            if (found.name == part) {
                return found.bytes;
            }
        }
        return std::int64_t{-1};
    };
    for (auto const &[name, sent, received] :
         {std::tuple{"bcast", 0, 0}, std::tuple{"alltoall", 1, 1}, std::tuple{"scatter", 1, 0},
          std::tuple{"gather", 0, 1}, std::tuple{"allgather", 0, 1}, std::tuple{"reduce_scatter", 1, 0}}) {
        auto cell = measured(name);
        std::int64_t const p = cell.team().size;
        CAPTURE(name);
        CHECK(bytes_of(cell.need(), "send") == 20480 * (sent != 0 ? p : 1));
        CHECK(bytes_of(cell.need(), "receive") == 20480 * (received != 0 ? p : 1));
    }
    auto spread = measured("alltoall", {{"form", "vector"}});
    CHECK(bytes_of(spread.need(), "send") == 2 * 20480 * spread.team().size);
    auto in_place = measured("reduce_scatter", {{"form", "inplace"}});
    CHECK(bytes_of(in_place.need(), "receive") == 20480 * in_place.team().size);
}

TEST_CASE("blocks that an int cannot count are refused before MPI 4, and taken from it on") {
    auto wide = measured("bcast", {{"bytes", "8 4294967296"}});
    auto places = measured("alltoallv", {{"bytes", "8 2000000000"}});
    std::string const said = refusal_of(places);
    if (MPI_VERSION >= 4) {
        CHECK(refusal_of(wide) == "no refusal");
        CHECK(said == "no refusal");
        return;
    }
    CHECK(refusal_of(wide).find("fabric: a block of 4294967296 bytes") == 0);
    CHECK(refusal_of(wide).find("(standard 3)") != std::string::npos);
    CHECK((places.team().size == 1 || said.find("displacements") != std::string::npos));
}

TEST_CASE("an int counts blocks up to 2^31 - 1 elements, and for counts of each rank their sum") {
    auto cell = measured("bcast");
    std::int64_t const most = 2147483647;
    weft::CollectiveForm form;
    auto const needs = [&](char const *name, bool spread, std::int64_t bytes) {
        form.collective = &weft::collective_named(name);
        form.spread = spread;
        return weft::CollectiveData::needs_wide(cell.team(), form, bytes);
    };
    CHECK_FALSE(needs("bcast", false, most));
    CHECK(needs("bcast", false, most + 1));
    CHECK_FALSE(needs("bcast", true, 8 * most));
    CHECK(needs("allreduce", false, 8 * (most + 1)));
    CHECK_FALSE(needs("alltoallv", false, most / cell.team().size));
    CHECK(needs("alltoallv", false, most / cell.team().size + 1));
}

#if MPI_VERSION >= 4
TEST_CASE("every collective brings every byte where it belongs with counts of 64 bits, too") {
    setenv("WEFT_PLANT", "wide", 1);
    for (auto const &name : names()) {
        narrow_calls = 0;
        auto cell = measured(name, {{"explain", "1"}});
        check_proven(cell, name);
        CHECK(narrow_calls == 0); // the calls with ints are not made
        if (weft::collective_named(name).in_place) {
            auto in_place = measured(name, {{"form", "inplace"}, {"bytes", "8 1000"}});
            check_proven(in_place, name + " in place");
        }
    }
    auto linear = measured("alltoallv", {{"pattern", "linear"}, {"form", "vector"}, {"bytes", "1000"}});
    check_proven(linear, "alltoallv of unequal blocks");
    unsetenv("WEFT_PLANT");
}
#endif

TEST_CASE("what MPI has no form for is a mistake of the plan") {
    auto bcast = measured("bcast", {{"form", "inplace"}});
    CHECK(refusal_of(bcast).find("has no form in place") != std::string::npos);
    auto linear = measured("alltoallv", {{"form", "inplace"}, {"pattern", "linear"}});
    CHECK(refusal_of(linear).find("has no form in place") != std::string::npos);
    auto sum = measured("reduce", {{"form", "vector"}});
    CHECK(refusal_of(sum).find("takes no derived datatype") != std::string::npos);
    auto odd = measured("allreduce", {{"bytes", "12"}});
    CHECK(refusal_of(odd).find("its elements have 8") != std::string::npos);
    auto root = measured("bcast", {{"root", "99"}});
    CHECK(refusal_of(root).find("root 99 is none of its") != std::string::npos);
    auto unknown = measured("scan");
    CHECK(refusal_of(unknown).find("unknown collective `scan`") != std::string::npos);
    CHECK_FALSE(is_rooted("alltoall"));
}

TEST_CASE("the sizes that refinement adds are the same on every rank, and within its budget") {
    auto cell = measured("alltoall", {{"bytes", "1 1024 1048576"}, {"refine", "3"}});
    CHECK(cell.run().errors == 0);
    std::int64_t extra = -4; // three sizes of the plan, and the barrier
    std::int64_t signature = 0;
    for (weft::Segment const &segment : cell.recorder().segments()) {
        extra += segment.phase == weft::Phase::warm ? 1 : 0;
        for (char const letter : segment.op) {
            signature = signature * 31 % 1'000'000'007 + letter;
        }
    }
    CHECK(extra >= 0); // their number depends on measured times; test_size_sweep uses given times
    CHECK(extra <= 3);
    CHECK(weft::min_over(cell.team().comm, signature) == weft::max_over(cell.team().comm, signature));
}
