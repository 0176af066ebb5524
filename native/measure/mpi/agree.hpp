// SPDX-License-Identifier: BSD-3-Clause
// Collective operations of a team outside of timed regions: over the back channel while the team has one, then over
// MPI.
#pragma once

#include "mpi/team.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

std::int64_t max_over(Team const &team, std::int64_t mine);
std::int64_t min_over(Team const &team, std::int64_t mine);
std::int64_t sum_over(Team const &team, std::int64_t mine);

/// The text of rank `from`, on every rank.
std::string text_of(Team const &team, std::string text, int from = 0);
/// The number of rank `from`, on every rank.
std::int64_t value_of(Team const &team, std::int64_t value, int from = 0);
/// Every rank's text, on every rank, truncated to 191 bytes.
std::vector<std::string> all_texts(Team const &team, std::string const &mine);
/// Every rank's text, on rank 0; empty on other ranks.
std::vector<std::string> texts_on_rank_0(Team const &team, std::string const &mine);

} // namespace weft
