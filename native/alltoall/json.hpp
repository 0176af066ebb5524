// SPDX-License-Identifier: BSD-3-Clause
// A reader of the part of JSON that a selection table needs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft::alltoall {

struct Value;
using Object = std::map<std::string, Value>;
using Array = std::vector<Value>;

struct Value {
    std::variant<std::nullptr_t, bool, double, std::string, Array, Object> is;

    template <typename Kind> Kind const *get() const { return std::get_if<Kind>(&is); }
};

/// Throws Error (MPI_ERR_ARG) naming the line, if the text is not JSON or an object has a repeated key.
Value parse_json(std::string_view text);

} // namespace weft::alltoall
