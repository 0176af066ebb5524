// SPDX-License-Identifier: BSD-3-Clause
// An algorithm with its parameters, as users write it: "node.multi{nl=4}".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft::alltoall {

enum class Kind { pmpi, flat_window, flat_pairwise, bruck, node_multi, node_direct, node_bruck, sched, sched_matrix };
enum class Order { shift, exclusive_or, node_rotated, permuted };

struct Spec {
    Kind kind = Kind::pmpi;
    int window = 0;             // w: messages in flight per rank (flat.window, sched.matrix) or node (node.direct)
    Order order = Order::shift; // order
    std::int64_t bytes_in_flight = 0; // bytes_in_flight per rank
    int radix = 2;                    // r
    int leaders = 1;                  // nl: cores per node that exchange with other nodes
    int stages = 12;                  // stages: of the pipeline of copies and messages
    std::string file;                 // file of rounds
};

/// The library's own algorithm.
inline Spec const library_own{};

struct AlgorithmHelp {
    Kind kind;
    char const *name;
    char const *parameters; // "w order bytes_in_flight"
    char const *help;
};

/// All algorithms, `pmpi` first.
std::span<AlgorithmHelp const> algorithms();

/// Reads a spec.
///
/// Throws Error (MPI_ERR_ARG): unknown algorithm or parameter, or a value out of range; names the valid ones.
Spec parse_spec(std::string_view text);

/// The spec as parse_spec reads it, with every parameter of its algorithm.
std::string to_text(Spec const &spec);

/// "64", "64KiB", "4MiB", "1GiB" as bytes. Throws Error for any other text, and above 2^62.
std::int64_t parse_bytes(std::string_view text);

} // namespace weft::alltoall
