// SPDX-License-Identifier: BSD-3-Clause
#include "bandwidth/binding.hpp"

#include "host/host_memory.hpp"

#include <bit>
#include <charconv>

namespace weft {

namespace {

/// Reads a whole number at the start of `text` and removes it; -1 if there is none.
int take_number(std::string_view &text) {
    int value = -1;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(std::size_t(end - text.data()));
    return error == std::errc{} ? value : -1;
}

Sockets socket_of_cpu(int cpu, std::string const &root) {
    std::string const text =
        read_text(root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/physical_package_id");
    std::string_view rest = text;
    int const package = take_number(rest);
    return package < 0 || package > 63 ? 0 : Sockets{1} << package;
}

std::string sockets_in_words(Sockets sockets) {
    std::string words;
    for (int package = 0; package < 64; ++package) {
        if ((sockets >> package & 1) != 0) {
            words += (words.empty() ? "" : ",") + std::to_string(package);
        }
    }
    return words;
}

std::string bound_to(Sockets first, Sockets second) {
    return "rank 0 may run on socket " + sockets_in_words(first) + ", rank 1 on socket " + sockets_in_words(second);
}

BindingFinding check_sockets(std::string_view pattern, Sockets first, Sockets second) {
    bool const same = pattern == "intra-socket";
    bool const certain = std::has_single_bit(first) && std::has_single_bit(second);
    if ((certain && (first == second) != same) || (same && (first & second) == 0)) {
        return {std::string(pattern) + " was asked for, but " + bound_to(first, second) +
                    ": let the launcher bind ranks to cores, and state node.sockets in the fabric",
                ""};
    }
    if (!certain && (same || (first & second) != 0)) {
        return {"", bound_to(first, second) + ": neither is held to one, so this may not be " + std::string(pattern) +
                        "; let the launcher bind ranks to cores"};
    }
    return {};
}

} // namespace

Sockets sockets_of(std::string_view cpus, std::string const &root) {
    Sockets found = 0;
    while (!cpus.empty()) {
        int const first = take_number(cpus);
        int last = first;
        if (cpus.starts_with('-')) {
            cpus.remove_prefix(1);
            last = take_number(cpus);
        }
        for (int cpu = first; cpu >= 0 && cpu <= last; ++cpu) {
            Sockets const one = socket_of_cpu(cpu, root);
            if (one == 0) {
                return 0;
            }
            found |= one;
        }
        if (!cpus.starts_with(',')) {
            break;
        }
        cpus.remove_prefix(1);
    }
    return found;
}

BindingFinding check_binding(std::string_view pattern, bool one_node, Sockets first, Sockets second) {
    bool const between_nodes = pattern == "inter-node";
    if (!between_nodes && pattern != "intra-socket" && pattern != "inter-socket") {
        return {};
    }
    if (one_node == between_nodes) {
        return {std::string(pattern) + " was asked for, but the two ranks run on " +
                    (one_node ? "one node" : "two nodes") + ": the launcher placed them otherwise than the plan",
                ""};
    }
    if (between_nodes) {
        return {};
    }
    if (first == 0 || second == 0) {
        return {"", "nobody here can tell which sockets the ranks run on: " + std::string(pattern) +
                        " is what the plan says, not what was seen"};
    }
    return check_sockets(pattern, first, second);
}

} // namespace weft
