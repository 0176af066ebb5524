// SPDX-License-Identifier: BSD-3-Clause
#include "record/npy_file.hpp"
#include "scratch_file.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <random>
#include <vector>

using namespace weft;

namespace {

std::string dictionary(std::string const &descr, std::string const &order, std::string const &shape) {
    return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

void check_refused(std::string const &bytes, char const *why) {
    ScratchFile const file(bytes);
    CHECK_THROWS_WITH_AS(NpyFile{file.path()}, doctest::Contains(why), KeyFileError);
    CHECK_THROWS_WITH_AS(NpyFile{file.path()}, doctest::Contains(file.path().c_str()), KeyFileError);
}

std::string eight_bytes(double value) {
    return {reinterpret_cast<char const *>(&value), 8};
}

} // namespace

TEST_CASE("version 1 and version 2 files are read from any place") {
    for (int version : {1, 2}) {
        ScratchFile const scratch(npy_bytes({1.0, -2.5, 1e300, 0.0}, version));
        NpyFile const file(scratch.path());
        CHECK(file.count() == 4);
        std::vector<double> part(2);
        file.read(1, part);
        CHECK(part == std::vector<double>{-2.5, 1e300});
    }
}

TEST_CASE("a header with its entries in another order is read") {
    ScratchFile const scratch(npy_bytes("{'shape': (1,), 'fortran_order': False, 'descr': '<f8'}", eight_bytes(4.0)));
    CHECK(NpyFile(scratch.path()).count() == 1);
}

TEST_CASE("a file that is not there is refused with the reason of the system") {
    CHECK_THROWS_WITH_AS(NpyFile{"/nowhere/keys.npy"},
                         doctest::Contains("/nowhere/keys.npy: cannot be opened: No such file or directory"),
                         KeyFileError);
}

TEST_CASE("a folder is refused") {
    CHECK_THROWS_WITH_AS(NpyFile{"/tmp"}, doctest::Contains("not a regular file"), KeyFileError);
    CHECK_THROWS_WITH_AS(NpyFile{"/dev/zero"}, doctest::Contains("not a regular file"), KeyFileError);
    ScratchFile const pipe("");
    REQUIRE(unlink(pipe.path().c_str()) == 0);
    REQUIRE(mkfifo(pipe.path().c_str(), 0600) == 0); // without a writer a blocking open would wait for ever
    CHECK_THROWS_WITH_AS(NpyFile{pipe.path()}, doctest::Contains("not a regular file"), KeyFileError);
}

TEST_CASE("files that hold something else are refused, each with what was seen") {
    check_refused("", "does not begin like a .npy file");
    check_refused("key,value\n1,2\n3,4\n5,6\n", "does not begin like a .npy file");
    check_refused(npy_bytes({1.0}, 3), "version 3");
    check_refused(npy_bytes(dictionary("'<f4'", "False", "(2,)"), eight_bytes(0)), "type '<f4'");
    check_refused(npy_bytes(dictionary("'>f8'", "False", "(1,)"), eight_bytes(0)), "type '>f8'");
    check_refused(npy_bytes(dictionary("'<f8'", "True", "(1,)"), eight_bytes(0)), "fortran_order is True");
    check_refused(npy_bytes(dictionary("'<f8'", "False", "(1, 1)"), eight_bytes(0)), "shape (1, 1), not one dimension");
    check_refused(npy_bytes(dictionary("'<f8'", "False", "()"), eight_bytes(0)), "not one dimension");
    check_refused(npy_bytes("{'descr': '<f8'}", eight_bytes(0)), "no 'fortran_order'");
}

TEST_CASE("a file that was cut off or has more behind is refused with both numbers") {
    auto const whole = npy_bytes({1.0, 2.0, 3.0});
    check_refused(whole.substr(0, whole.size() - 5), "has 19 bytes of data where its header says 3 elements");
    check_refused(whole + "x", "has 25 bytes of data");
    check_refused(whole.substr(0, 40), "longer than the file");
}

TEST_CASE("reading past the end is an error, never old memory") {
    ScratchFile const scratch(npy_bytes({1.0, 2.0}));
    NpyFile const file(scratch.path());
    std::vector<double> part(2);
    CHECK_THROWS_WITH_AS(file.read(1, part), doctest::Contains("ends before element 3"), KeyFileError);
}

TEST_CASE("no mangled header does more than be refused") {
    std::mt19937_64 random(5);
    auto const whole = npy_bytes({1.0, 2.0, 3.0});
    for (int round = 0; round < 3000; ++round) {
        auto bytes = whole;
        for (auto flips = 1 + random() % 4; flips > 0; --flips)
            bytes[random() % bytes.size()] = static_cast<char>(random());
        bytes.resize(random() % (bytes.size() + 1));
        try {
            auto const header = parse_npy_header(std::as_bytes(std::span(bytes)));
            CHECK(header.data_offset <= bytes.size());
        } catch (KeyFileError const &) { // a refusal is also correct; anything else fails the test
        }
    }
}
