// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/proof.hpp"

#include "record/hash.hpp"

#include <sstream>

namespace weft {

namespace {

template <class... Parts> std::string sentence(Parts const &...parts) {
    std::ostringstream out;
    out.precision(17);
    (out << ... << parts);
    return out.str();
}

int low_bits(std::uint64_t key) {
    return static_cast<int>(key & 0x7fffffff);
}

/// "vector 17 of block 2", counted from 0 as in the papers' matrices of blocks.
std::string place_in_blocks(ContentionSet const &set, std::uint64_t position) {
    return sentence("vector ", position % set.block(), " of block ", position / set.block());
}

std::string describe_wrong_vector(ContentionSet const &set, int rank, std::uint64_t position, std::uint64_t j,
                                  double seen, double expected) {
    if (j == 0) {
        return sentence("rank ", rank, ": ", place_in_blocks(set, position), " holds key ", seen, ", expected ",
                        expected);
    }
    return sentence("rank ", rank, ": element ", j, " of ", place_in_blocks(set, position), " is ", seen, ", expected ",
                    expected);
}

} // namespace

std::uint64_t checksum(std::span<double const> elements) {
    std::uint64_t sum = 0;
    for (double const element : elements) {
        sum += mix(std::bit_cast<std::uint64_t>(element));
    }
    return sum;
}

Flaws check_contention(ContentionSet const &set, int rank, ConstVectors sorted) {
    Flaws flaws;
    for (std::uint64_t position = 0; position < sorted.count; ++position) {
        auto const key = static_cast<double>(set.sorted_key(rank, position));
        auto const wrong = first_wrong_element(sorted[position], key);
        if (wrong) {
            flaws.add([&] {
                return describe_wrong_vector(set, rank, position, *wrong, sorted[position][*wrong],
                                             element_of(key, *wrong, sorted.m));
            });
        }
    }
    return flaws;
}

void write_integers(ContentionSet const &set, int rank, std::span<int> integers) {
    std::size_t at = 0;
    for (int to = 0; to < set.ranks; ++to) {
        for (std::uint64_t i = 0; i < set.block(); ++i) {
            integers[at++] = low_bits(set.unsorted_key(rank, to, i));
        }
    }
}

Flaws check_integers(ContentionSet const &set, int rank, std::span<int const> received) {
    Flaws flaws;
    for (std::uint64_t position = 0; position < received.size(); ++position) {
        auto const expected = low_bits(set.sorted_key(rank, position));
        if (received[position] != expected) {
            flaws.add([&] {
                return sentence("rank ", rank, ": call B: integer ", position % set.block(), " of block ",
                                position / set.block(), " is ", received[position], ", expected ", expected);
            });
        }
    }
    return flaws;
}

Flaws check_sorted(int rank, ConstVectors sorted) {
    Flaws flaws;
    for (std::uint64_t position = 0; position < sorted.count; ++position) {
        auto const key = sorted.key(position);
        // In this form a NaN on either side is a flaw too.
        auto const in_order = position == 0 ? key == key : sorted.key(position - 1) <= key;
        if (!in_order) {
            flaws.add([&] {
                return position == 0 ? sentence("rank ", rank, ": vector 0 holds key ", key)
                                     : sentence("rank ", rank, ": vector ", position, " holds key ", key, " after key ",
                                                sorted.key(position - 1));
            });
        }
        if (auto const wrong = first_wrong_element(sorted[position], key); wrong) {
            flaws.add([&] {
                return sentence("rank ", rank, ": element ", *wrong, " of vector ", position, " is ",
                                sorted[position][*wrong], ", expected ", element_of(key, *wrong, sorted.m),
                                " beside key ", key);
            });
        }
    }
    return flaws;
}

} // namespace weft
