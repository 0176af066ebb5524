// SPDX-License-Identifier: BSD-3-Clause
#include "nodes.hpp"

#include "error.hpp"
#include "texts.hpp"

#include <algorithm>
#include <charconv>
#include <random>
#include <string>

namespace weft::alltoall {

namespace {

[[noreturn]] void refuse(std::string_view text) {
    throw Error(MPI_ERR_ARG, "weft: WEFT_NODES_FAKE is " + shown(text) +
                                 " -> write block:3, cyclic:4, random:4:SEED or sizes:3,5,8");
}

std::vector<int> numbers_in(std::string_view text, std::string_view list) {
    std::vector<int> numbers;
    while (!list.empty()) {
        auto const word = list.substr(0, list.find_first_of(",:"));
        int value = 0;
        auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (error != std::errc() || end != word.data() + word.size() || value < 1) {
            refuse(text);
        }
        numbers.push_back(value);
        list.remove_prefix(std::min(list.size(), word.size() + 1));
    }
    return numbers;
}

std::vector<int> labels_of_sizes(std::vector<int> const &sizes, int ranks) {
    std::vector<int> labels;
    for (int node = 0; int(labels.size()) < ranks; ++node) {
        int const left = ranks - int(labels.size()); // a node may be larger than the job
        labels.insert(labels.end(), std::size_t(std::min(left, sizes[std::size_t(node) % sizes.size()])), node);
    }
    return labels;
}

} // namespace

std::vector<int> fake_labels(std::string_view text, int ranks) {
    auto const colon = text.find(':');
    std::string_view const name = text.substr(0, colon);
    std::vector<int> const numbers =
        colon == std::string_view::npos ? std::vector<int>{} : numbers_in(text, text.substr(colon + 1));
    if (numbers.empty() || (name != "sizes" && numbers.size() != (name == "random" ? 2u : 1u))) {
        refuse(text);
    }
    if (name == "block" || name == "sizes") {
        return labels_of_sizes(numbers, ranks);
    }
    std::vector<int> labels;
    std::mt19937 random(name == "random" ? unsigned(numbers[1]) : 0u);
    for (int rank = 0; rank < ranks; ++rank) {
        // no std distribution: these differ between standard libraries, and all ranks must get the same nodes
        labels.push_back(name == "random" ? int(random() % unsigned(numbers[0])) : rank % numbers[0]);
    }
    if (name != "random" && name != "cyclic") {
        refuse(text);
    }
    return labels;
}

} // namespace weft::alltoall
