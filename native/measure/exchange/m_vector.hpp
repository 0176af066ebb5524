// SPDX-License-Identifier: BSD-3-Clause
// An m-vector: m doubles that are moved together (paper 000, section 3.3), and arrays of them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace weft {

/// Element `j` of the m-vector with this key. Element 0 is the key itself; the others depend on the key and on j, so
/// that a double from another vector or position is detected. A division, because key + j * (1 / m) may become a fused
/// multiply-add in one function and not in another, and the proof would differ in the last bit.
[[nodiscard]] inline double element_of(double key, std::uint64_t j, std::uint64_t m) {
    return j == 0 ? key : key + static_cast<double>(j) / static_cast<double>(m);
}

/// Bytes of `vectors` m-vectors, or nothing if that does not fit into 64 bits.
[[nodiscard]] constexpr std::optional<std::uint64_t> array_bytes(std::uint64_t vectors, std::uint64_t m) {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max() / sizeof(double);
    if (m != 0 && vectors > most / m) {
        return std::nullopt;
    }
    return vectors * m * sizeof(double);
}

/// A non-owning view of an array of m-vectors; offsets have 64 bits.
template <class Double> struct BasicVectors {
    Double *data = nullptr;
    std::uint64_t count = 0; ///< in m-vectors
    std::uint64_t m = 1;     ///< doubles of one vector

    [[nodiscard]] constexpr std::uint64_t offset(std::uint64_t vector) const { return vector * m; }
    [[nodiscard]] constexpr Double &key(std::uint64_t vector) const { return data[offset(vector)]; }
    [[nodiscard]] constexpr std::span<Double> operator[](std::uint64_t vector) const {
        return {data + offset(vector), static_cast<std::size_t>(m)};
    }
    [[nodiscard]] constexpr std::span<Double> elements() const {
        return {data, static_cast<std::size_t>(offset(count))};
    }
    [[nodiscard]] constexpr BasicVectors first(std::uint64_t vectors) const { return {data, vectors, m}; }
    constexpr operator BasicVectors<Double const>() const
        requires(!std::is_const_v<Double>)
    {
        return {data, count, m};
    }
};
using Vectors = BasicVectors<double>;
using ConstVectors = BasicVectors<double const>;

/// Writes the whole vector that belongs to this key.
inline void write_vector(std::span<double> vector, double key) {
    for (std::uint64_t j = 0; j < vector.size(); ++j) {
        vector[j] = element_of(key, j, vector.size());
    }
}

[[nodiscard]] inline bool same_bits(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// The first element of a vector that does not agree with its key, or nothing.
[[nodiscard]] inline std::optional<std::uint64_t> first_wrong_element(std::span<double const> vector, double key) {
    for (std::uint64_t j = 0; j < vector.size(); ++j) {
        if (!same_bits(vector[j], element_of(key, j, vector.size()))) {
            return j;
        }
    }
    return std::nullopt;
}

} // namespace weft
