// SPDX-License-Identifier: BSD-3-Clause
// Texts from users: specs and files of rounds.
#include "error.hpp"
#include "round_file.hpp"
#include "spec.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace weft::alltoall;

namespace {

std::string refusal(std::string const &text) {
    try {
        parse_spec(text);
    } catch (Error const &error) {
        CHECK(error.code() == MPI_ERR_ARG);
        return error.what();
    }
    return "";
}

bool says(std::string const &text, std::string const &part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a spec is read with its parameters, and written back") {
    Spec const window = parse_spec(" flat.window{ w = 12, order=node-rotated ,bytes_in_flight=64KiB}");
    CHECK(window.kind == Kind::flat_window);
    CHECK(window.window == 12);
    CHECK(window.order == Order::node_rotated);
    CHECK(window.bytes_in_flight == 65'536);
    CHECK(parse_spec("node.multi{nl=4}").leaders == 4);
    CHECK(parse_spec("node.multi{nl=4}").stages == 12);
    CHECK(parse_spec("node.multi{nl=4,stages=64}").stages == 64);
    CHECK(parse_spec("node.bruck{r=7}").radix == 7);
    CHECK(parse_spec("sched{file=/a b/c.txt}").file == "/a b/c.txt");
    for (auto const &each : algorithms()) {
        std::string const text = std::string(each.name) + (each.kind == Kind::sched ? "{file=x}" : "");
        CHECK(to_text(parse_spec(to_text(parse_spec(text)))) == to_text(parse_spec(text)));
        CHECK(parse_spec(text).kind == each.kind);
    }
}

TEST_CASE("a spec that is wrong is refused with what there is") {
    CHECK(says(refusal("node.mulit{nl=4}"), "\"node.mulit\" -> there are: pmpi, flat.window"));
    CHECK(says(refusal(""), "\"\""));
    CHECK(says(refusal("node.multi{w=4}"), "node.multi has no parameter \"w\" -> it has: nl stages"));
    CHECK(says(refusal("node.multi{stages=0}"), "from 1 to 1024"));
    CHECK(says(refusal("pmpi{w=4}"), "it has none"));
    CHECK(says(refusal("bruck{r=1}"), "from 2 to 65536"));
    CHECK(says(refusal("bruck{r=two}"), "\"two\""));
    CHECK(says(refusal("bruck{r=2"), "no closing brace"));
    CHECK(says(refusal("bruck{r}"), "name=value"));
    CHECK(says(refusal("sched"), "sched{file=PATH}"));
    CHECK(says(refusal("flat.window{bytes_in_flight=4MB}"), "4MiB"));
    CHECK(says(refusal("flat.window{bytes_in_flight=99999999999GiB}"), "99999999999GiB"));
    CHECK(says(refusal("flat.window{order=back}"), "node-rotated"));
    CHECK(parse_bytes("1GiB") == std::int64_t(1) << 30);
}

TEST_CASE("a file of rounds is read, and each broken rule is told with its line") {
    std::string const good =
        "# three ranks\nweft-rounds 1\nranks 3\nround\n0 1\n1 2\n2 0\nround\n1 0\nround\n2 1\n0 2\n";
    RoundFile const file = parse_rounds(good);
    CHECK(file.rounds.size() == 3);
    CHECK(file.rounds[0][1].to == 2);
    CHECK(file.rounds[0][1].from == 0);
    CHECK(file.rounds[1][2].to == -1);
    auto const refused = [](std::string const &text) {
        try {
            parse_rounds(text);
        } catch (Error const &error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(says(refused("rounds\n"), "line 1"));
    CHECK(says(refused("weft-rounds 1\nround\n"), "before the line"));
    CHECK(says(refused("weft-rounds 1\nranks 2\n0 1\n"), "no message"));
    CHECK(says(refused("weft-rounds 1\nranks 2\nround\n0 0\n"), "from 0 to 0"));
    CHECK(says(refused("weft-rounds 1\nranks 2\nround\n0 2\n"), "from 0 to 2"));
    CHECK(says(refused("weft-rounds 1\nranks 3\nround\n0 1\n0 2\n"), "rank 0 has a message"));
    CHECK(says(refused("weft-rounds 1\nranks 3\nround\n0 2\n1 2\n"), "rank 2 has a message"));
    CHECK(says(refused("weft-rounds 1\nranks 2\nround\n0 1\nround\n0 1\n"), "there already"));
    CHECK(says(refused("weft-rounds 1\nranks 2\nround\n0 1\n"), "1 messages, but 2 ranks need 2"));
    CHECK(says(refused(""), "ranks P"));
}
