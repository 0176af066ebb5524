// SPDX-License-Identifier: BSD-3-Clause
// Texts that nobody would write: specs, placements, files of rounds and selection tables. Each is read or refused by an
// Error; none takes memory that its own size does not justify.
//
// WEFT_TEST_TEXTS=5000000 looks longer, with other texts each time: WEFT_TEST_SEED=N.
#include "error.hpp"
#include "nodes.hpp"
#include "round_file.hpp"
#include "spec.hpp"
#include "table.hpp"
#include "texts.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <new>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

std::size_t largest_taken = 0; // in one piece

} // namespace

void *operator new(std::size_t bytes) {
    largest_taken = std::max(largest_taken, bytes);
    if (void *const made = std::malloc(bytes)) {
        return made;
    }
    throw std::bad_alloc();
}
void operator delete(void *at) noexcept {
    std::free(at);
}
void operator delete(void *at, std::size_t) noexcept {
    std::free(at);
}

using namespace weft::alltoall;

namespace {

using Read = std::function<void(std::string const &)>;

struct Target {
    char const *name;
    Read read;
    std::vector<std::string> good;
    std::string bytes; // of which texts are made, beside all others
};

std::vector<Target> targets() {
    std::string const evidence = R"("evidence": {"median_us": 1, "interval_us": [1, 2], "pmpi_us": 3, "n": 9})";
    return {
        {"spec",
         [](std::string const &text) { to_text(parse_spec(text)); },
         {"flat.window{w=8,order=node-rotated,bytes_in_flight=4MiB}", "node.multi{nl=4,stages=64}", "sched{file=a}"},
         "{}=,. nl0123456789KMGiB"},
        {"bytes", [](std::string const &text) { parse_bytes(text); }, {"64MiB", "65536", "1GiB"}, "0123456789KMGiB- "},
        {"placement",
         [](std::string const &text) { fake_labels(text, 48); },
         {"block:3", "cyclic:4", "random:4:7", "sizes:3,5,8"},
         "0123456789:,-+"},
        {"rounds",
         [](std::string const &text) { parse_rounds(text); },
         {"weft-rounds 1\nranks 3\nround\n0 1\n1 2\n2 0\nround\n1 0\n0 2\n2 1\n", "weft-rounds 1\nranks 1\n"},
         "0123456789 -\n#"},
        {"table",
         [](std::string const &text) { Table const table(text); },
         {R"({"schema": "weft-tuning/1", "rules": [{"op": "alltoall", "nodes": [2, 64], "bytes": [1, 1e3],
            "algorithm": "node.multi{nl=4}", )" +
          evidence + R"(}, {"op": "*", "algorithm": "pmpi"}]})"},
         "{}[]\",:\\0123456789eE+-.naif \n"},
    };
}

/// One text: a good one changed in some places, cut, or doubled; or bytes from nowhere.
std::string text_of(Target const &target, std::mt19937_64 &random) {
    auto const below = [&](std::size_t limit) { return std::size_t(random() % std::max<std::size_t>(limit, 1)); };
    std::vector<std::string> const numbers{"0",     "-1",   "2147483648", "4294967297", "99999999999999999999",
                                           "65536", "1e999"};
    std::string text = below(10) == 0 ? "" : target.good[below(target.good.size())];
    for (std::size_t changes = below(6); changes > 0; --changes) {
        std::size_t const at = below(text.size() + 1);
        switch (below(7)) {
        case 0:
            text.insert(at, 1, char(random()));
            break;
        case 1:
            text.insert(at, 1 + below(9), target.bytes[below(target.bytes.size())]);
            break;
        case 2:
            text.erase(at, 1 + below(4));
            break;
        case 3:
            text.insert(at, numbers[below(numbers.size())]);
            break;
        case 4:
            text.resize(at);
            break;
        case 5:
            text.insert(at, text.substr(below(text.size() + 1), below(40)));
            break;
        default:
            text.insert(at, below(200), "{[(:,\n"[below(6)]);
            break;
        }
    }
    return text;
}

long number_from(char const *name, long otherwise) {
    char const *const given = std::getenv(name);
    return given == nullptr ? otherwise : std::atol(given);
}

/// Reads a text: true if it was refused. Anything but an Error fails the test.
bool refused(Target const &target, std::string const &text) {
    largest_taken = 0;
    bool by_error = false;
    try {
        target.read(text);
    } catch (Error const &error) {
        by_error = true;
        CHECK(std::string(error.what()).find(" -> ") != std::string::npos); // says what to do
    }
    CHECK_MESSAGE(largest_taken <= 64 * text.size() + 16'384, target.name << " took " << largest_taken << ": " << text);
    return by_error;
}

} // namespace

TEST_CASE("no text breaks a reader, and none is given more memory than it fills") {
    long const texts = number_from("WEFT_TEST_TEXTS", 4000);
    std::mt19937_64 random(std::uint64_t(number_from("WEFT_TEST_SEED", 1)));
    for (Target const &target : targets()) {
        CAPTURE(target.name);
        for (std::string const &good : target.good) {
            CHECK_FALSE(refused(target, good));
            for (std::size_t cut = 0; cut < good.size(); ++cut) {
                refused(target, good.substr(0, cut));
            }
        }
        long refusals = 0;
        for (long i = 0; i < texts; ++i) {
            refusals += refused(target, text_of(target, random)) ? 1 : 0;
        }
        CHECK(refusals > texts / 4); // and some are read
        CHECK(refusals < texts);
    }
}

TEST_CASE("a number that a file only claims takes no memory") {
    auto const all = targets();
    CHECK(refused(all[3], "weft-rounds 1\nranks 65536\n"));
    CHECK(refused(all[3], "weft-rounds 1\nranks 2000\nround\nround\nround\n"));
    std::string empty_rounds = "weft-rounds 1\nranks 40\n";
    for (int i = 0; i < 2000; ++i) {
        empty_rounds += "round\n";
    }
    CHECK(refused(all[3], empty_rounds));
    CHECK_FALSE(refused(all[2], "block:2000000000"));
    CHECK_FALSE(refused(all[2], "sizes:2147483647,1"));
    CHECK(refused(all[4], std::string(1'000'000, '[')));
    CHECK(refused(all[4],
                  R"({"schema": "weft-tuning/1", "rules": [{"op": "*", "bytes": [nan, inf], "algorithm": "pmpi"}]})"));
}

TEST_CASE("a message quotes a hostile text safely") {
    CHECK(shown("a\x1b[31m\n") == "\"a?[31m?\"");
    CHECK(shown(std::string(1000, 'x')).size() < 100);
    CHECK(shown("M\xc3\xbcller") == "\"M\xc3\xbcller\"");
}

TEST_CASE("a file that does not end, or is none, is refused") {
    CHECK_THROWS_AS(file_text("/dev/zero", "the table", 1 << 20), Error);
    CHECK_THROWS_AS(file_text("/", "the table", 1 << 20), Error);
    CHECK_THROWS_AS(file_text("/no/such", "the table", 1 << 20), Error);
    std::string const path = "/tmp/weft-texts-" + std::to_string(getpid());
    std::ofstream(path) << std::string("a\0b", 3);
    CHECK(file_text(path, "the table", 3) == std::string("a\0b", 3));
    CHECK_THROWS_AS(file_text(path, "the table", 2), Error);
    std::remove(path.c_str());
}
