// SPDX-License-Identifier: BSD-3-Clause
// A selection table: the algorithm for each call. Pure: no MPI.
//
//   {"schema": "weft-tuning/1", "platform": {...},
//    "rules": [{"op": "alltoall", "nodes": [8, 64], "ranks_per_node": [4, 16], "p": [32, 1024], "bytes": [1, 1023],
//               "skew": [1, 1.4],
//               "algorithm": "node.multi{nl=8}",
//               "evidence": {"median_us": 285.1, "interval_us": [281, 289], "pmpi_us": 491.0, "n": 200}},
//              {"op": "*", "algorithm": "pmpi"}]}
//
// The first rule that matches applies; without one the library's own algorithm runs. Ranges include both ends; an
// omitted range matches all. `bytes` is the size of a block, for MPI_Alltoallv the mean on the rank that sends most.
// `skew` is what the busiest rank sends or receives over the mean, 1 for MPI_Alltoall. A rule for another algorithm
// than pmpi must have `evidence` from a measurement.
#pragma once

#include "spec.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::alltoall {

/// A larger file is no table.
inline constexpr std::int64_t most_table_bytes = std::int64_t(64) << 20;

struct Range {
    double low = 0;
    double high = 1e300;
};

/// Properties of a call that are the same on all ranks of a communicator. Decisions may use nothing else, or ranks
/// would decide differently.
struct Key {
    bool vector = false; // MPI_Alltoallv
    int nodes = 1;
    int fewest_ranks = 1; // on a node
    int most_ranks = 1;
    int ranks = 1;
};

struct Rule {
    bool alltoall = true;
    bool alltoallv = true;
    Range nodes;
    Range ranks_per_node;
    Range ranks;
    Range bytes;
    Range skew;
    Spec spec;
};

/// The rules of a table for one operation and shape, by size and skew alone.
class SizeRules {
  public:
    /// Adds a rule, unless the ones before leave nothing to it.
    void add(Rule const &rule);
    /// Valid as long as these rules are.
    Spec const &choose(std::int64_t bytes, double skew = 1) const;
    /// Whether the choice depends on the size.
    bool needs_bytes() const noexcept { return !rules_.empty(); }
    /// Whether it depends on the skew.
    bool needs_skew() const noexcept { return needs_skew_; }
    /// Whether all sizes take the library's own algorithm.
    bool leave_all() const noexcept { return rules_.empty() && (!every_ || every_->kind == Kind::pmpi); }

  private:
    std::vector<Rule> rules_; // until the first for all sizes and skews
    bool needs_skew_ = false;
    std::optional<Spec> every_;
};

class Table {
  public:
    /// Throws Error (MPI_ERR_ARG): not JSON, another schema, an unknown key, a rule without evidence.
    explicit Table(std::string_view text);

    /// The rules for calls like `key`, of whatever size.
    SizeRules of_shape(Key const &key) const;
    std::size_t size() const noexcept { return rules_.size(); }

  private:
    std::vector<Rule> rules_;
};

} // namespace weft::alltoall
