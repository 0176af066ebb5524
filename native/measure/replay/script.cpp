// SPDX-License-Identifier: BSD-3-Clause
#include "replay/script.hpp"

#include "mpi/error.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <span>

namespace weft {

namespace {

constexpr std::array<char, 8> magic{'W', 'E', 'F', 'T', 'S', 'C', 'R', '\0'};
constexpr std::uint32_t version = 1;
constexpr std::int64_t most_bytes = std::int64_t{1} << 50;
constexpr std::uint32_t most_layers = 1'000;

struct Head {
    std::array<char, 8> magic;
    std::uint32_t version;
    std::uint32_t ranks;
    std::uint32_t layers;
    std::uint32_t direct_acts;
    std::array<std::int64_t, 5> more;
};
static_assert(sizeof(Head) == 64);

struct Part {
    std::int64_t first_action; // bytes from the start of the file
    std::int64_t actions;
    std::int64_t first_count; // likewise
    std::int64_t counts;
    std::int64_t send_bytes;
    std::int64_t receive_bytes;
    std::int64_t slots;
};
static_assert(sizeof(Part) == 56);

class ScriptFile {
  public:
    explicit ScriptFile(std::string const &path) : path_(path), file_(path, std::ios::binary | std::ios::ate) {
        if (!file_) {
            fail("cannot be read");
        }
        bytes_ = std::int64_t(file_.tellg());
    }

    template <class T> void read(std::int64_t at, std::span<T> into) {
        std::int64_t const bytes = std::int64_t(into.size_bytes());
        if (at < 0 || bytes > bytes_ || at > bytes_ - bytes) {
            fail("is shorter than it says");
        }
        file_.seekg(at);
        file_.read(reinterpret_cast<char *>(into.data()), bytes);
        if (!file_) {
            fail("cannot be read");
        }
    }

    [[noreturn]] void fail(std::string const &what) const {
        throw Failure("the script " + path_ + " " + what, "make it anew: weft replay TRACE --on FABRIC", true);
    }
    std::int64_t bytes() const noexcept { return bytes_; }

  private:
    std::string path_;
    std::ifstream file_;
    std::int64_t bytes_ = 0;
};

bool is_possible(Part const &part, std::int64_t file) {
    auto const within = [file](std::int64_t count, std::int64_t each) { return count >= 0 && count <= file / each; };
    return within(part.actions, sizeof(Action)) && within(part.counts, sizeof(std::int64_t)) && part.send_bytes >= 0 &&
           part.send_bytes < most_bytes && part.receive_bytes >= 0 && part.receive_bytes < most_bytes &&
           part.slots >= 0 && part.slots <= part.actions;
}

std::vector<Part> read_parts(ScriptFile &file, int ranks, Head &head) {
    file.read(0, std::span(&head, 1));
    if (head.magic != magic || head.version != version) {
        file.fail("is no script of this version of Weft");
    }
    if (head.ranks != std::uint32_t(ranks)) {
        file.fail("is of " + std::to_string(head.ranks) + " ranks, and the cell has " + std::to_string(ranks));
    }
    if (head.layers > most_layers) {
        file.fail("says that it has " + std::to_string(head.layers) + " layers of communicators");
    }
    std::vector<Part> parts(head.ranks);
    file.read(sizeof(Head), std::span(parts));
    if (!std::all_of(parts.begin(), parts.end(), [&](Part const &part) { return is_possible(part, file.bytes()); })) {
        file.fail("has sizes that cannot be");
    }
    return parts;
}

Script sizes_of(std::vector<Part> const &parts) {
    Script script;
    script.ranks = int(parts.size());
    for (Part const &part : parts) {
        script.send_bytes = std::max(script.send_bytes, part.send_bytes);
        script.receive_bytes = std::max(script.receive_bytes, part.receive_bytes);
        std::int64_t const own = part.actions * std::int64_t(sizeof(Action)) + part.counts * 8;
        script.script_bytes = std::max(script.script_bytes, own);
    }
    return script;
}

/// How many counts an action has from `value` on.
std::int64_t counts_of(Action const &action, int size) {
    switch (action.act) {
    case Act::alltoallv:
        return 2 * std::int64_t(size);
    case Act::gather:
    case Act::scatter:
    case Act::reduce_scatter:
    case Act::allgather:
        return action.value < 0 ? 0 : size;
    default:
        return 0;
    }
}

bool has_slot(Act act) {
    return act == Act::isend || act == Act::ireceive || act == Act::wait;
}

bool fits(Action const &action, Script const &script, int size) {
    bool const known = action.act <= Act::last && action.bytes >= 0 && action.received >= 0;
    if (!known || action.bytes > most_bytes || action.received > most_bytes) {
        return false;
    }
    if (action.act == Act::compute || action.act == Act::wait) {
        return action.value >= 0 && (action.act == Act::compute || action.value < script.slots);
    }
    if (size == 0 || action.peer < 0 || action.peer >= size || action.tag < 0 || action.offset < 0) {
        return false;
    }
    if (has_slot(action.act)) {
        return action.value >= 0 && action.value < script.slots;
    }
    std::int64_t const counts = counts_of(action, size);
    std::int64_t const all = std::int64_t(script.counts.size());
    return counts == 0 || (action.value >= 0 && counts <= all && action.value <= all - counts);
}

/// Bytes of the buffers that an action uses: send, receive.
std::pair<std::int64_t, std::int64_t> used(Action const &action, Script const &script, int size) {
    auto const sum = [&](std::int64_t first) {
        std::int64_t total = 0;
        for (std::int64_t k = first; k < first + size; ++k) {
            std::int64_t const count = script.counts[std::size_t(k)];
            total = count < 0 || total > most_bytes ? most_bytes : total + count;
        }
        return total;
    };
    std::int64_t const listed = counts_of(action, size) > 0 ? sum(action.value) : -1;
    std::int64_t const all = std::max(size, 1);
    switch (action.act) {
    case Act::send:
    case Act::isend:
        return {action.bytes, 0};
    case Act::receive:
    case Act::ireceive:
        return {0, action.offset + action.received};
    case Act::gather:
    case Act::allgather:
        return {action.bytes, listed < 0 ? action.received * all : listed};
    case Act::scatter:
        return {listed < 0 ? action.bytes * all : listed, action.received};
    case Act::alltoall:
        return {action.bytes * all, action.bytes * all};
    case Act::alltoallv:
        return {listed, sum(action.value + size)};
    case Act::reduce_scatter:
        return {listed < 0 ? action.bytes * all : listed, listed < 0 ? action.bytes : listed};
    default:
        return {action.bytes, action.bytes};
    }
}

} // namespace

Script read_sizes(std::string const &path, int ranks) {
    ScriptFile file(path);
    Head head{};
    return sizes_of(read_parts(file, ranks, head));
}

Script read_script(std::string const &path, int ranks, int rank) {
    ScriptFile file(path);
    Head head{};
    std::vector<Part> const parts = read_parts(file, ranks, head);
    Part const &own = parts[std::size_t(rank)];
    Script script = sizes_of(parts);
    script.slots = own.slots;
    script.layers.resize(head.layers);
    std::int64_t const layers_at = std::int64_t(sizeof(Head) + parts.size() * sizeof(Part));
    for (std::size_t layer = 0; layer < script.layers.size(); ++layer) {
        std::int64_t const place = std::int64_t(layer) * ranks + rank;
        file.read(layers_at + place * std::int64_t(sizeof(Script::Layer)), std::span(&script.layers[layer], 1));
        if (script.layers[layer].color < -1) {
            file.fail("has a communicator of a negative colour");
        }
    }
    script.actions.resize(std::size_t(own.actions));
    file.read(own.first_action, std::span(script.actions));
    script.counts.resize(std::size_t(own.counts));
    file.read(own.first_count, std::span(script.counts));
    return script;
}

std::optional<std::string> wrong_action(Script const &script, std::vector<int> const &sizes, std::string const &path) {
    for (std::size_t k = 0; k < script.actions.size(); ++k) {
        Action const &action = script.actions[k];
        bool const alone = action.comm == -1;
        bool const known = alone || (action.comm >= 0 && std::size_t(action.comm) < sizes.size());
        int const size = alone ? 1 : known ? sizes[std::size_t(action.comm)] : 0;
        if (known && fits(action, script, size)) {
            auto const [send, receive] = used(action, script, size);
            if (send <= script.send_bytes && receive <= script.receive_bytes) {
                continue;
            }
        }
        return "the script " + path + " has an action that cannot be: its number " + std::to_string(k) +
               "; make it anew: weft replay TRACE --on FABRIC";
    }
    return std::nullopt;
}

} // namespace weft
