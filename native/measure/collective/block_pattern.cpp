// SPDX-License-Identifier: BSD-3-Clause
#include "collective/block_pattern.hpp"

#include <algorithm>
#include <stdexcept>

namespace weft {

namespace {

constexpr std::int64_t light_share = 8; // of the largest block, in the pattern `heavy`

/// largest * part / whole in whole units, rounded down. In 128 bits: 4 MiB times a weight of 2^50 does not fit into
/// int64.
std::int64_t share_of(std::int64_t largest, std::int64_t part, std::int64_t whole, std::int64_t unit) {
    __extension__ using Wide = __int128;
    return static_cast<std::int64_t>(Wide(largest / unit) * part / whole) * unit;
}

} // namespace

BlockPattern::Kind BlockPattern::kind_of(std::string_view name) {
    if (name == "equal") {
        return Kind::equal;
    }
    if (name == "linear") {
        return Kind::linear;
    }
    if (name == "heavy") {
        return Kind::heavy;
    }
    if (name == "matrix") {
        return Kind::matrix;
    }
    throw std::invalid_argument("pattern `" + std::string(name) + "` is none of equal, linear, heavy, matrix");
}

BlockPattern::BlockPattern(std::string_view name, int ranks, std::vector<std::int64_t> weights)
    : kind_(weights.empty() ? kind_of(name) : Kind::matrix), ranks_(ranks), weights_(std::move(weights)) {
    if (kind_ != Kind::matrix) {
        return;
    }
    auto const asked = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks);
    if (weights_.size() != asked) {
        throw std::invalid_argument("a traffic matrix of " + std::to_string(weights_.size()) + " weights for " +
                                    std::to_string(ranks) + " ranks, which need " + std::to_string(asked));
    }
    auto const [least, most] = std::minmax_element(weights_.begin(), weights_.end());
    if (*least < 0 || *most < 1) {
        throw std::invalid_argument("the weights of a traffic matrix lie between " + std::to_string(*least) + " and " +
                                    std::to_string(*most) + ": none may be negative, nor all 0");
    }
    heaviest_ = *most;
}

std::int64_t BlockPattern::block(int from, int to, std::int64_t largest, std::int64_t unit) const {
    switch (kind_) {
    case Kind::linear:
        return share_of(largest, to + 1, ranks_, unit);
    case Kind::heavy:
        return from == 0 ? largest : share_of(largest, 1, light_share, unit);
    case Kind::matrix: {
        auto const place = static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks_) + std::size_t(to);
        return share_of(largest, weights_[place], heaviest_, unit);
    }
    case Kind::equal:
        break;
    }
    return largest;
}

} // namespace weft
