// SPDX-License-Identifier: BSD-3-Clause
// Detects the algorithm of a collective: SMPI's selectors choose by size and number of ranks and do not report it. But
// each algorithm is an exported function, simgrid::smpi::alltoall__bruck, and is on the stack of a rank that sends.
#include "algorithm.hpp"

#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace weft::simulate {
namespace {

// Messages after which a call has no algorithm of SMPI's: it is a replay's own messages, or one of Weft's all-to-alls.
constexpr int most_looks = 4096;

struct Watch {
    std::string call;  // the watched call; "" for none
    std::string noted; // the algorithm
    int begun = 0;     // ranks that have begun the call
    int ended = 0;     // and that have ended it
    int looks = 0;     // at the stack of a rank that sends

    bool open() const { return ended < begun && noted.empty() && looks < most_looks; }
};

// All ranks are threads of one process, of which one runs at a time.
Watch &watch() {
    static Watch the;
    return the;
}

struct Frame {
    std::string_view collective;
    std::string_view algorithm;
};

// Of "_ZN7simgrid4smpi15alltoall__bruckEPKvi..." the two parts of the name; nothing for another function.
std::optional<Frame> parsed(std::string_view symbol) {
    constexpr std::string_view scope = "_ZN7simgrid4smpi";
    if (!symbol.starts_with(scope))
        return std::nullopt;
    symbol.remove_prefix(scope.size());
    std::size_t length = 0;
    auto const [after, error] = std::from_chars(symbol.data(), symbol.data() + symbol.size(), length);
    symbol.remove_prefix(static_cast<std::size_t>(after - symbol.data()));
    if (error != std::errc{} || length > symbol.size())
        return std::nullopt;
    auto const name = symbol.substr(0, length);
    auto const split = name.find("__");
    if (split == std::string_view::npos)
        return std::nullopt;
    return Frame{name.substr(0, split), name.substr(split + 2)};
}

// The parts of the name of the function that returns to an address. Looking one up goes through all names of a library,
// and the same few addresses are on the stack at each message.
std::optional<Frame> const &function_at(void *address) {
    static std::unordered_map<void *, std::optional<Frame>> known;
    auto const [found, unknown] = known.try_emplace(address);
    Dl_info about{};
    // this is the return address, which may be the first byte of the next function
    if (unknown && dladdr(static_cast<char *>(address) - 1, &about) != 0 && about.dli_sname)
        found->second = parsed(about.dli_sname);
    return found->second;
}

// Functions that choose an algorithm and are not algorithms themselves.
bool chooses(std::string_view name) {
    constexpr std::array<std::string_view, 5> selectors{"default", "mpich", "ompi", "impi", "mvapich2"};
    return std::find(selectors.begin(), selectors.end(), name) != selectors.end();
}

// The outermost algorithm, with its collective if that is not the one called ("reduce/binomial" within an allreduce);
// the selector's own name if it sends itself.
std::string on_stack() {
    std::array<void *, 64> places{};
    auto const depth = backtrace(places.data(), static_cast<int>(places.size()));
    std::string_view called;
    std::string found;
    for (auto i = depth - 1; i >= 0; --i) {
        auto const &frame = function_at(places[static_cast<std::size_t>(i)]);
        if (!frame)
            continue;
        called = called.empty() ? frame->collective : called;
        found = frame->collective == called ? std::string() : std::string(frame->collective) + "/";
        found += frame->algorithm;
        if (!chooses(frame->algorithm))
            break;
    }
    return found;
}

} // namespace

void note_algorithm() {
    auto &the = watch();
    if (the.open()) {
        ++the.looks;
        the.noted = on_stack();
    }
}

} // namespace weft::simulate

extern "C" void weft_watch_algorithm(char const *call) {
    auto &the = weft::simulate::watch();
    if (the.call != call)
        the = {call, {}};
    ++the.begun;
}

extern "C" char const *weft_noted_algorithm(char const *call) {
    auto &the = weft::simulate::watch();
    if (the.call != call)
        return "";
    ++the.ended;
    return the.noted.c_str();
}
