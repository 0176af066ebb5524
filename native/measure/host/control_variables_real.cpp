// SPDX-License-Identifier: BSD-3-Clause
// Control variables of a real library, read through MPI_T.
#include "host/settings.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

namespace weft {

namespace {

/// MPI_T has its own initialisation, which may be repeated.
class ToolInterface {
  public:
    ToolInterface() {
        int provided = 0;
        up_ = MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS;
    }
    ToolInterface(ToolInterface const &) = delete;
    ToolInterface &operator=(ToolInterface const &) = delete;
    ~ToolInterface() {
        if (up_) {
            MPI_T_finalize();
        }
    }
    bool up() const { return up_; }

  private:
    bool up_ = false;
};

template <class Number> std::string numbers(std::vector<char> const &raw, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
        Number value{};
        std::memcpy(&value, raw.data() + std::size_t(i) * sizeof(Number), sizeof(Number));
        std::array<char, 32> digits{};
        auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
        text += (i > 0 ? "," : "") + std::string(digits.data(), end);
    }
    return text;
}

std::string show(MPI_Datatype type, std::vector<char> const &raw, int count) {
    if (type == MPI_CHAR) {
        return {raw.data(), strnlen(raw.data(), raw.size())};
    }
    if (type == MPI_INT) {
        return numbers<int>(raw, count);
    }
    if (type == MPI_UNSIGNED) {
        return numbers<unsigned>(raw, count);
    }
    if (type == MPI_UNSIGNED_LONG) {
        return numbers<unsigned long>(raw, count);
    }
    if (type == MPI_UNSIGNED_LONG_LONG) {
        return numbers<unsigned long long>(raw, count);
    }
    if (type == MPI_COUNT) {
        return numbers<MPI_Count>(raw, count);
    }
    return type == MPI_DOUBLE ? numbers<double>(raw, count) : "?";
}

struct Variable {
    std::string name;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int bind = 0;
};

std::optional<Variable> describe(int index) {
    std::array<char, 512> name{};
    std::array<char, 8> unused{};
    int name_length = int(name.size());
    int unused_length = int(unused.size());
    int verbosity = 0;
    int scope = 0;
    MPI_T_enum set{};
    Variable variable;
    if (MPI_T_cvar_get_info(index, name.data(), &name_length, &verbosity, &variable.type, &set, unused.data(),
                            &unused_length, &variable.bind, &scope) != MPI_SUCCESS) {
        return std::nullopt; // indices of removed variables are not reused
    }
    variable.name = name.data();
    return variable;
}

std::optional<std::string> read(int index, MPI_Datatype type) {
    MPI_T_cvar_handle handle{};
    int count = 0;
    if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) {
        return std::nullopt;
    }
    std::vector<char> raw((std::size_t(std::max(count, 1)) + 1) * 16, '\0');
    bool const is_read = MPI_T_cvar_read(handle, raw.data()) == MPI_SUCCESS;
    MPI_T_cvar_handle_free(&handle);
    return is_read ? std::optional(show(type, raw, count)) : std::nullopt;
}

} // namespace

Settings control_variables() {
    Settings found;
    ToolInterface const tools;
    int variables = 0;
    if (!tools.up() || MPI_T_cvar_get_num(&variables) != MPI_SUCCESS) {
        return found;
    }
    for (int index = 0; index < variables; ++index) {
        auto const variable = describe(index);
        if (!variable || variable->bind != MPI_T_BIND_NO_OBJECT) {
            continue;
        }
        if (auto const value = read(index, variable->type)) {
            found.insert_or_assign(variable->name, *value);
        }
    }
    return found;
}

} // namespace weft
