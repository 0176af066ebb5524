// SPDX-License-Identifier: BSD-3-Clause
// Sources of the keys of a sort: key number g of n is the same for any number of ranks.
#pragma once

#include "exchange/m_vector.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace weft {

class KeySource {
  public:
    virtual ~KeySource() = default;
    /// Writes the keys with the global indices [first, first + out.size()).
    virtual void keys(std::uint64_t first, std::span<double> out) = 0;
};

struct KeyRequest {
    std::string data;               ///< uniform | skewed | reverse | file
    std::uint64_t n = 0;            ///< keys of the whole array
    std::uint64_t seed = 0;         ///< of the plan
    std::uint64_t launch_index = 1; ///< each launch sorts other keys
    std::string file;               ///< of data = "file"
};

/// The source that a plan names:
///   uniform  evenly spread over [0, 1)
///   skewed   a power law, P(key >= k) = 1 / k for k = 1, 2, 3 ...: half of all keys are 1, and the largest is near n
///   reverse  n, n - 1, ..., 1: every vector moves to the mirror rank, nearly all blocks are empty
///   file     a .npy file of at least n keys; the first n are used
/// Throws KeyFileError for a file that cannot be used or has too few keys, std::invalid_argument for an unknown kind.
[[nodiscard]] std::unique_ptr<KeySource> make_key_source(KeyRequest const &request);

/// Fills vectors [0, count) with those of the global indices [first, first + count).
void write_vectors(KeySource &source, std::uint64_t first, Vectors out);

/// Throws KeyFileError if a key in [first, first + count) is a NaN, which cannot be ordered.
void refuse_nan(KeySource &source, std::uint64_t first, std::uint64_t count);

} // namespace weft
