// SPDX-License-Identifier: BSD-3-Clause
#include "collective/begun_calls.hpp"

#include <array>
#include <stdexcept>
#include <string>

namespace weft {

namespace {

struct BegunCall {
    std::string_view name;
    int (*begin)(CallArguments const &, MPI_Request *);
    int (*init)(CallArguments const &, MPI_Request *); ///< null before MPI 4
};

#if MPI_VERSION >= 4
#define WEFT_INIT(...) [](CallArguments const &a, MPI_Request *r) { return __VA_ARGS__; }
#else
#define WEFT_INIT(...) nullptr
#endif
/// Both forms of a call: its name in lower case, as MPI spells it, and the arguments that they share.
#define WEFT_FORMS(lower, upper, ...)                                                                                  \
    {#lower, [](CallArguments const &a, MPI_Request *r) { return MPI_I##lower(__VA_ARGS__, r); },                      \
     WEFT_INIT(MPI_##upper##_init(__VA_ARGS__, MPI_INFO_NULL, r))}

constexpr std::array<BegunCall, 9> begun_calls{{
    WEFT_FORMS(bcast, Bcast, a.is_root() ? a.send : a.receive, a.count, a.type, a.root, a.comm),
    WEFT_FORMS(alltoall, Alltoall, a.send, a.count, a.type, a.receive, a.count, a.type, a.comm),
    WEFT_FORMS(alltoallv, Alltoallv, a.send, a.send_counts.data(), a.send_places.data(), a.type, a.receive,
               a.receive_counts.data(), a.receive_places.data(), a.type, a.comm),
    WEFT_FORMS(scatter, Scatter, a.send, a.count, a.type, a.receive, a.count, a.type, a.root, a.comm),
    WEFT_FORMS(gather, Gather, a.send, a.count, a.type, a.receive, a.count, a.type, a.root, a.comm),
    WEFT_FORMS(allgather, Allgather, a.send, a.count, a.type, a.receive, a.count, a.type, a.comm),
    WEFT_FORMS(allreduce, Allreduce, a.send, a.receive, a.count, a.type, MPI_SUM, a.comm),
    WEFT_FORMS(reduce, Reduce, a.send, a.receive, a.count, a.type, MPI_SUM, a.root, a.comm),
    WEFT_FORMS(reduce_scatter, Reduce_scatter, a.send, a.receive, a.receive_counts.data(), a.type, MPI_SUM, a.comm),
}};

#undef WEFT_FORMS
#undef WEFT_INIT

BegunCall const &begun_call(std::string_view name) {
    for (BegunCall const &each : begun_calls) {
        if (each.name == name) {
            return each;
        }
    }
    throw std::out_of_range("no non-blocking form of " + std::string(name));
}

} // namespace

void begin_call(std::string_view name, CallArguments const &arguments, MPI_Request *request) {
    check(begun_call(name).begin(arguments, request), "a non-blocking collective");
}

bool make_persistent(std::string_view name, CallArguments const &arguments, MPI_Request *request) {
    BegunCall const &found = begun_call(name);
    if (found.init == nullptr) {
        return false;
    }
    check(found.init(arguments, request), "a persistent collective");
    return true;
}

} // namespace weft
