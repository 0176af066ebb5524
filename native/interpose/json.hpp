// SPDX-License-Identifier: BSD-3-Clause
// Reading JSON, as far as a selection table needs it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft::interpose {

struct Value;
using Object = std::map<std::string, Value>;
using Array = std::vector<Value>;

struct Value {
    std::variant<std::nullptr_t, bool, double, std::string, Array, Object> is;

    template <typename Kind> Kind const *get() const { return std::get_if<Kind>(&is); }
};

/// Throws alltoall::Error (MPI_ERR_ARG) with the line where the text is no JSON, or an object has a key twice.
Value parse_json(std::string_view text);

} // namespace weft::interpose
