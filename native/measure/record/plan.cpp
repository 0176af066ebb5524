// SPDX-License-Identifier: BSD-3-Clause
#include "record/plan.hpp"

#include "mpi/agree.hpp"
#include "mpi/error.hpp"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

namespace weft {

namespace {

constexpr char const *remedy = "plan files are written by `weft plan` and `weft run`; start the study again";
constexpr std::int64_t most_samples = 100'000'000; // MPI counts are int, and records are in memory

std::string_view trimmed(std::string_view text) {
    std::size_t const first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// A byte in hexadecimal digits; -1 for anything else.
int hex_byte(std::string_view digits) {
    int value = -1;
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return error == std::errc{} && end == digits.data() + digits.size() && digits.size() == 2 ? value : -1;
}

/// The text of a value: the value itself, or the text in its quotes. See src/weft/plan/wire.py, which writes them.
std::string unquoted(std::string_view value) {
    if (value.empty() || value.front() != '"') {
        return std::string(value);
    }
    std::string text;
    std::size_t at = 1;
    while (at < value.size() && value[at] != '"') {
        bool const escaped = value[at] == '\\' && at + 1 < value.size();
        char const next = escaped ? value[at + 1] : value[at];
        int const byte = escaped && next == 'x' ? hex_byte(value.substr(at + 2, 2)) : -1;
        if (escaped && next != '"' && next != '\\' && byte < 0) {
            throw Failure(std::string("`\\") + next + "` in quotes: not \\\", \\\\ or \\xHH", remedy, true);
        }
        text += byte < 0 ? next : char(byte);
        at += byte >= 0 ? 4 : escaped ? 2 : 1;
    }
    if (at + 1 != value.size()) {
        throw Failure("`" + std::string(value) + "`: its quotes do not end where the line does", remedy, true);
    }
    return text;
}

template <class Number> Number parse_number(std::string_view text, std::string_view key, char const *kind) {
    Number value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
        throw Failure("`" + std::string(key) + " " + std::string(text) + "`: not " + kind, remedy, true);
    }
    return value;
}

std::int64_t at_least(std::int64_t least, std::string_view text, std::string_view key) {
    std::int64_t const value = to_integer(text, key);
    if (value < least) {
        throw Failure("`" + std::string(key) + " " + std::string(text) + "`: below " + std::to_string(least), remedy,
                      true);
    }
    return value;
}

double to_precision(std::string_view text) {
    auto const value = parse_number<double>(text, "precision", "a number");
    if (!(value > 0) || !std::isfinite(value)) {
        throw Failure("`precision " + std::string(text) + "`: not above 0", remedy, true);
    }
    return value;
}

bool set_key(Plan &plan, std::string_view key, std::string_view value) {
    if (key == "launch") {
        plan.launch = value;
    } else if (key == "launch_index") {
        plan.launch_index = at_least(0, value, key);
    } else if (key == "seed") {
        plan.seed = parse_number<std::uint64_t>(value, key, "a whole number");
    } else if (key == "run") {
        plan.run = value;
    } else if (key == "folder") {
        plan.folder = value;
    } else if (key == "settings_of") {
        plan.settings_of = value;
    } else if (key == "io") {
        if (value != "mpi" && value != "posix") {
            throw Failure("`io " + std::string(value) + "`: neither mpi nor posix", remedy, true);
        }
        plan.posix_io = value == "posix";
    } else if (key == "start") {
        start_named(value);
        plan.start = value;
    } else if (key == "precision") {
        plan.rules.precision = to_precision(value);
    } else if (key == "min_samples") {
        plan.rules.min_samples = std::min(at_least(1, value, key), most_samples);
    } else if (key == "max_samples") {
        plan.rules.max_samples = std::min(at_least(1, value, key), most_samples);
    } else if (key == "warmup_most") {
        plan.rules.warmup_most = at_least(0, value, key);
    } else if (key == "budget_ns") {
        plan.rules.budget_ns = at_least(1, value, key);
    } else if (key == "limit_ns") {
        plan.limit_ns = at_least(0, value, key);
    } else if (key == "memory_limit_bytes") {
        plan.memory_limit_bytes = at_least(0, value, key);
    } else {
        return false;
    }
    return true;
}

/// Reads line by line; keeps track of whether it is inside a cell.
class Reader {
  public:
    void read(std::string_view line) {
        line = trimmed(line);
        if (line.empty() || line.front() == '#') {
            return;
        }
        std::size_t const space = line.find_first_of(" \t");
        std::string_view const key = line.substr(0, space);
        std::string const value = unquoted(space == std::string_view::npos ? "" : trimmed(line.substr(space)));
        if (!versioned_) {
            read_version(key, value);
        } else if (inside_) {
            read_in_cell(key, value);
        } else if (key == "cell") {
            plan_.cells.push_back({value, "", "", {}});
            inside_ = true;
        } else if (!set_key(plan_, key, value)) {
            throw Failure("unknown key `" + std::string(key) + "`", remedy, true);
        }
    }

    Plan take() {
        if (!versioned_ || inside_) {
            throw Failure(inside_ ? "the last cell has no `end`" : "it is empty", remedy, true);
        }
        if (plan_.folder.empty() || plan_.launch.empty()) {
            throw Failure("it names no folder or no launch", remedy, true);
        }
        return std::move(plan_);
    }

  private:
    void read_version(std::string_view key, std::string_view value) {
        if (key != "weft-plan" || value != "2") {
            throw Failure("it begins with `" + std::string(key) + " " + std::string(value) + "`, not `weft-plan 2`",
                          "build the kernels of this version of weft: start the study again", true);
        }
        versioned_ = true;
    }

    void read_in_cell(std::string_view key, std::string_view value) {
        CellPlan &cell = plan_.cells.back();
        if (key == "end") {
            if (cell.name.empty() || cell.kernel.empty()) {
                throw Failure("a cell without a name or a kernel", remedy, true);
            }
            inside_ = false;
        } else if (key == "kernel") {
            cell.kernel = value;
        } else if (key == "hash") {
            cell.hash = value;
        } else {
            cell.values.insert_or_assign(std::string(key), std::string(value));
        }
    }

    Plan plan_;
    bool versioned_ = false;
    bool inside_ = false;
};

/// The content of a file, on rank 0; empty and `error` set if it cannot be read.
std::string slurp(std::string const &path, std::string &error) {
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file.good() && !file.eof()) {
        error = std::strerror(errno != 0 ? errno : EIO);
    }
    return text;
}

} // namespace

std::int64_t to_integer(std::string_view text, std::string_view key) {
    return parse_number<std::int64_t>(text, key, "a whole number below 2^63");
}

Plan parse_plan(std::string_view text) {
    Reader reader;
    int number = 0;
    while (!text.empty()) {
        ++number;
        std::size_t const end = text.find('\n');
        try {
            reader.read(text.substr(0, end));
        } catch (Failure const &failure) {
            throw Failure("plan, line " + std::to_string(number) + ": " + failure.what(), failure.remedy(), true);
        }
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    try {
        return reader.take();
    } catch (Failure const &failure) {
        throw Failure(std::string("plan: ") + failure.what(), failure.remedy(), true);
    }
}

Plan read_plan(Team const &team, std::string const &path) {
    std::string text;
    std::string error;
    if (team.rank == 0) {
        text = slurp(path, error);
    }
    constexpr std::size_t longest = std::size_t{1} << 30;
    if (value_of(team, error.empty() && text.size() <= longest ? 1 : 0) == 0) {
        throw Failure("cannot read the plan " + path + ": " + error, "give the path of a plan file of weft", true);
    }
    return parse_plan(text_of(team, text));
}

} // namespace weft
