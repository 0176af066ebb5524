// SPDX-License-Identifier: BSD-3-Clause
#include "common/crc32.hpp"
#include "common/json.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <span>
#include <string>

using weft::json_string;

TEST_CASE("strings are escaped so that any reader takes them") {
    CHECK(json_string("plain") == "\"plain\"");
    CHECK(json_string("a\"b\\c") == R"("a\"b\\c")");
    CHECK(json_string("line\nbreak\tand\x01") == R"("line\nbreak\tand\u0001")");
    CHECK(json_string("gr\xc3\xbc\xc3\x9f") == "\"gr\xc3\xbc\xc3\x9f\"");
    CHECK(json_string("\xe2\x82\xac \xf0\x9f\x98\x80") == "\"\xe2\x82\xac \xf0\x9f\x98\x80\"");
}

TEST_CASE("bytes that are not UTF-8 become the replacement character") {
    CHECK(json_string("\xff") == "\"\\ufffd\"");
    CHECK(json_string("a\xc3") == "\"a\\ufffd\"");                                // cut off
    CHECK(json_string("\xc0\xaf") == "\"\\ufffd\\ufffd\"");                       // overlong
    CHECK(json_string("\xed\xa0\x80") == "\"\\ufffd\\ufffd\\ufffd\"");            // surrogate
    CHECK(json_string("\xf4\x90\x80\x80") == "\"\\ufffd\\ufffd\\ufffd\\ufffd\""); // above U+10FFFF
}

TEST_CASE("commas come between members and values, and nowhere else") {
    weft::Json json;
    json.begin_object().member("a", 1).key("b").begin_array().value(1).value("x").begin_object().end_object();
    json.begin_array().end_array().end_array().member("c", true).member("d", std::string("s")).end_object();
    CHECK(json.text() == R"({"a":1,"b":[1,"x",{},[]],"c":true,"d":"s"})");
}

TEST_CASE("numbers keep all their digits, and what is no number becomes null") {
    weft::Json json;
    json.begin_array();
    json.value(std::numeric_limits<std::int64_t>::min()).value(std::numeric_limits<std::uint64_t>::max());
    json.value(0.1).value(std::numeric_limits<double>::quiet_NaN()).value(std::numeric_limits<double>::infinity());
    json.end_array();
    CHECK(json.text() == "[-9223372036854775808,18446744073709551615,0.1,null,null]");
}

TEST_CASE("the checksum is that of zip") {
    std::string const check = "123456789";
    auto const bytes = std::as_bytes(std::span(check));
    CHECK(weft::crc32(bytes) == 0xcbf43926);
    CHECK(weft::crc32(bytes.subspan(4), weft::crc32(bytes.first(4))) == 0xcbf43926);
    CHECK(weft::crc32({}) == 0);
}

TEST_CASE("a record ends with the checksum of all before it") {
    std::string const text = weft::with_checksum(R"({"a":1})");
    CHECK(text ==
          R"({"a":1,"record_crc32":)" + std::to_string(weft::crc32(std::as_bytes(std::span(R"({"a":1)", 6)))) + "}\n");
}
