// SPDX-License-Identifier: BSD-3-Clause
// Families of file calls: timed, and counted with the bytes that they ask for.
#pragma once

#include "point_to_point.hpp"

namespace weft::trace {

/// Moves `count` elements of a type, the arguments before the last `behind`: a status, or none.
template <bool writes, std::size_t behind> struct FileMove : Plain<FileMove<writes, behind>> {
    template <typename L, typename... A> static void after(Event &e, A... a) {
        auto const all = std::tuple(a...);
        auto const type = std::get<sizeof...(A) - 1 - behind>(all);
        auto const count = std::get<sizeof...(A) - 2 - behind>(all);
        (writes ? e.record.bytes : e.record.received) = L::number(count) * size_of(L::type(type));
    }
};

using FileRead = FileMove<false, 1>;
using FileWrite = FileMove<true, 1>;
using FileReadBegun = FileMove<false, 0>;
using FileWriteBegun = FileMove<true, 0>;

} // namespace weft::trace
