// SPDX-License-Identifier: BSD-3-Clause
// A reader of JSON; `json.hpp` writes it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft::json {

struct Value;
using Object = std::map<std::string, Value>;
using Array = std::vector<Value>;

struct Value {
    std::variant<std::nullptr_t, bool, double, std::string, Array, Object> is;

    template <typename Kind> Kind const *get() const { return std::get_if<Kind>(&is); }
};

/// Throws std::runtime_error naming the line, if the text is not JSON or an object has a repeated key.
Value parse(std::string_view text);

/// Whether the text of an object ends with a checksum (`with_checksum`) of other bytes than are before it.
bool is_damaged(std::string_view text);

} // namespace weft::json
