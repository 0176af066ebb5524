// SPDX-License-Identifier: BSD-3-Clause
#include "spec.hpp"

#include "error.hpp"
#include "texts.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace weft::alltoall {

namespace {

constexpr std::array<AlgorithmHelp, 9> table{{
    {Kind::pmpi, "pmpi", "", "the MPI library's own"},
    {Kind::flat_window, "flat.window", "w order bytes_in_flight", "a message a pair, at most w under way at once"},
    {Kind::flat_pairwise, "flat.pairwise", "", "a message a pair, one partner after the other"},
    {Kind::bruck, "bruck", "r", "log_r(p) steps; blocks are forwarded"},
    {Kind::node_multi, "node.multi", "nl stages",
     "through shared memory of the nodes, a message a pair of them; nl cores send"},
    {Kind::node_direct, "node.direct", "w", "each rank sends one message to each other node, from the user's buffer"},
    {Kind::node_bruck, "node.bruck", "r", "Bruck over the nodes, through shared memory"},
    {Kind::sched, "sched", "file", "rounds read from a file"},
    {Kind::sched_matrix, "sched.matrix", "w", "a message a pair, in an order made for the bytes between nodes"},
}};

constexpr std::array<std::pair<Order, char const *>, 4> orders{{{Order::shift, "shift"},
                                                                {Order::exclusive_or, "xor"},
                                                                {Order::node_rotated, "node-rotated"},
                                                                {Order::permuted, "permuted"}}};

[[noreturn]] void refuse(std::string const &what, std::string const &remedy) {
    throw Error(MPI_ERR_ARG, "weft: " + what + " -> " + remedy);
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') {
        text.remove_prefix(1);
    }
    while (!text.empty() && text.back() == ' ') {
        text.remove_suffix(1);
    }
    return text;
}

std::string names() {
    std::string all;
    for (AlgorithmHelp const &each : table) {
        all += (all.empty() ? "" : ", ") + std::string(each.name);
    }
    return all;
}

AlgorithmHelp const &help_of(Kind kind) {
    return table[std::size_t(kind)];
}

int number(std::string_view key, std::string_view text, int low, int high) {
    int value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
        refuse("parameter " + std::string(key) + " is " + shown(text),
               "give a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    }
    return value;
}

Order order_named(std::string_view text) {
    for (auto const &[order, name] : orders) {
        if (text == name) {
            return order;
        }
    }
    refuse("parameter order is " + shown(text), "give one of shift, xor, node-rotated, permuted");
}

void set(Spec &spec, std::string_view key, std::string_view value) {
    if (key == "w") {
        spec.window = number(key, value, 1, 1'000'000);
    } else if (key == "order") {
        spec.order = order_named(value);
    } else if (key == "bytes_in_flight") {
        spec.bytes_in_flight = parse_bytes(value);
    } else if (key == "r") {
        spec.radix = number(key, value, 2, 65'536);
    } else if (key == "nl") {
        spec.leaders = number(key, value, 1, 65'536);
    } else if (key == "stages") {
        spec.stages = number(key, value, 1, 1024);
    } else {
        spec.file = value;
    }
}

bool takes(AlgorithmHelp const &help, std::string_view key) {
    std::string_view rest = help.parameters;
    while (!rest.empty()) {
        auto const word = rest.substr(0, rest.find(' '));
        if (word == key) {
            return true;
        }
        rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    }
    return false;
}

void set_parameter(Spec &spec, std::string_view pair) {
    AlgorithmHelp const &help = help_of(spec.kind);
    auto const equals = pair.find('=');
    std::string_view const key = trimmed(pair.substr(0, equals));
    if (equals == std::string_view::npos) {
        refuse(shown(pair) + " in the parameters of " + help.name, "write name=value");
    }
    if (!takes(help, key)) {
        std::string const known = *help.parameters ? "it has: " + std::string(help.parameters) : "it has none";
        refuse(std::string(help.name) + " has no parameter " + shown(key), known);
    }
    set(spec, key, trimmed(pair.substr(equals + 1)));
}

Spec defaults_of(Kind kind) {
    Spec spec;
    spec.kind = kind;
    spec.window = kind == Kind::node_direct ? 64 : 8;
    spec.bytes_in_flight = std::int64_t(4) << 20;
    return spec;
}

} // namespace

std::span<AlgorithmHelp const> algorithms() {
    return table;
}

std::int64_t parse_bytes(std::string_view text) {
    std::int64_t value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    std::string_view const unit(end, std::size_t(text.data() + text.size() - end));
    int const shift = unit.empty() || unit == "B" ? 0
                      : unit == "KiB"             ? 10
                      : unit == "MiB"             ? 20
                      : unit == "GiB"             ? 30
                                                  : -1;
    if (error != std::errc() || value < 1 || shift < 0 || value > (std::int64_t(1) << 62 >> shift)) {
        refuse("a number of bytes is " + shown(text), "write it as 65536, 64KiB, 4MiB or 1GiB");
    }
    return value << shift;
}

Spec parse_spec(std::string_view text) {
    text = trimmed(text);
    auto const brace = text.find('{');
    std::string_view const name = trimmed(text.substr(0, brace));
    auto const found = std::find_if(table.begin(), table.end(), [&](auto const &each) { return name == each.name; });
    if (found == table.end()) {
        refuse("no all-to-all algorithm is named " + shown(name), "there are: " + names());
    }
    Spec spec = defaults_of(found->kind);
    if (brace != std::string_view::npos) {
        if (text.back() != '}') {
            refuse(shown(text) + " has no closing brace", "write it as " + std::string(name) + "{name=value}");
        }
        std::string_view rest = text.substr(brace + 1, text.size() - brace - 2);
        while (!trimmed(rest).empty()) {
            auto const pair = rest.substr(0, rest.find(','));
            set_parameter(spec, trimmed(pair));
            rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
        }
    }
    if (spec.kind == Kind::sched && spec.file.empty()) {
        refuse("sched has no file", "write sched{file=PATH}");
    }
    return spec;
}

std::string to_text(Spec const &spec) {
    std::string const name = help_of(spec.kind).name;
    switch (spec.kind) {
    case Kind::flat_window: {
        auto const order = orders[std::size_t(spec.order)].second;
        return name + "{w=" + std::to_string(spec.window) + ",order=" + order +
               ",bytes_in_flight=" + std::to_string(spec.bytes_in_flight) + "}";
    }
    case Kind::bruck:
    case Kind::node_bruck:
        return name + "{r=" + std::to_string(spec.radix) + "}";
    case Kind::node_multi:
        return name + "{nl=" + std::to_string(spec.leaders) + ",stages=" + std::to_string(spec.stages) + "}";
    case Kind::node_direct:
    case Kind::sched_matrix:
        return name + "{w=" + std::to_string(spec.window) + "}";
    case Kind::sched:
        return name + "{file=" + spec.file + "}";
    default:
        return name;
    }
}

} // namespace weft::alltoall
