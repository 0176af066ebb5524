// SPDX-License-Identifier: BSD-3-Clause
// Families of point-to-point calls. `around` makes the call and fills in the event; `after` only fills it in.
#pragma once

#include "event.hpp"

#include <tuple>
#include <utility>

namespace weft::trace {

/// A family that needs nothing before its call.
template <typename Family> struct Plain {
    template <typename L, typename Run, typename... A> static void around(Event &e, Run run, A... a) {
        e.time([&] { return run(a...); });
        if (e.good()) {
            Family::template after<L>(e, a...);
        }
    }
};

struct Timed : Plain<Timed> {
    template <typename L> static void after(Event &, auto...) {}
};

struct Send : Plain<Send> {
    static constexpr bool receives = false;
    template <typename L> static void after(Event &e, auto, auto n, auto type, auto to, auto tag, auto comm) {
        e.on(L::comm(comm));
        e.to(L::number(to));
        e.tagged(L::number(tag));
        e.record.bytes = L::number(n) * size_of(L::type(type));
    }
};

/// The start of a receive: how much there is room for.
struct Post {
    static constexpr bool receives = true;
    template <typename L> static void after(Event &e, auto, auto n, auto type, auto from, auto tag, auto comm) {
        e.on(L::comm(comm));
        e.from(L::number(from));
        e.tagged(L::number(tag));
        e.record.received = L::number(n) * size_of(L::type(type));
    }
};

template <typename Family>
constexpr bool receives_of = [] {
    if constexpr (requires { Family::receives; }) {
        return Family::receives;
    }
    return false;
}();

/// A family with a request behind its arguments.
template <typename Family, bool is_persistent> struct WithRequest : Plain<WithRequest<Family, is_persistent>> {
    template <typename L, typename... A> static void after(Event &e, A... a) {
        auto const all = std::tuple(a...);
        constexpr std::size_t last = sizeof...(A) - 1;
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            Family::template after<L>(e, std::get<I>(all)...);
        }(std::make_index_sequence<last>{});
        e.makes(L::request(std::get<last>(all), 0), is_persistent, receives_of<Family>);
    }
};
template <typename Family> struct Started : WithRequest<Family, false> {};
template <typename Family> struct Made : WithRequest<Family, true> {};

struct Receive {
    template <typename L, typename Run>
    static void around(Event &e, Run run, auto buf, auto n, auto type, auto from, auto tag, auto comm, auto status) {
        e.on(L::comm(comm));
        e.from(L::number(from));
        e.tagged(L::number(tag));
        Statuses const own(L::ignored(status), status, scratch().statuses, 1);
        e.time([&] { return run(buf, n, type, from, tag, comm, own.argument()); });
        if (e.good()) {
            Event::came(e.record, *e.group, own.at(0));
        }
    }
};

/// Its receive is the completion of a request 0.
inline void came_beside(Event &e, MPI_Status const &status, std::uint16_t wildcards) {
    Record part;
    part.call = completion;
    part.flags = std::uint16_t(receive | wildcards | (e.record.flags & between_groups));
    part.comm = e.record.comm;
    part.site = e.record.site;
    part.thread = e.record.thread;
    Event::came(part, *e.group, status);
    scratch().parts.push_back(part);
}

inline std::uint16_t wildcards(std::int64_t from, std::int64_t tag) noexcept {
    return std::uint16_t((from == MPI_ANY_SOURCE ? any_source : 0) | (tag == MPI_ANY_TAG ? any_tag : 0));
}

struct SendReceive {
    template <typename L, typename Run>
    static void around(Event &e, Run run, auto sb, auto sn, auto st, auto to, auto stag, auto rb, auto rn, auto rt,
                       auto from, auto rtag, auto comm, auto status) {
        Send::after<L>(e, sb, sn, st, to, stag, comm);
        Statuses const own(L::ignored(status), status, scratch().statuses, 1);
        std::uint16_t const any = wildcards(L::number(from), L::number(rtag));
        e.time([&] { return run(sb, sn, st, to, stag, rb, rn, rt, from, rtag, comm, own.argument()); });
        if (e.good()) {
            came_beside(e, own.at(0), any);
        }
    }
};

struct SendReceiveReplace {
    template <typename L, typename Run>
    static void around(Event &e, Run run, auto buf, auto n, auto type, auto to, auto stag, auto from, auto rtag,
                       auto comm, auto status) {
        Send::after<L>(e, buf, n, type, to, stag, comm);
        Statuses const own(L::ignored(status), status, scratch().statuses, 1);
        std::uint16_t const any = wildcards(L::number(from), L::number(rtag));
        e.time([&] { return run(buf, n, type, to, stag, from, rtag, comm, own.argument()); });
        if (e.good()) {
            came_beside(e, own.at(0), any);
        }
    }
};

/// Of a message that a probe has matched. One that was matched unseen is of an unknown communicator: its sender's rank
/// in that says nothing.
struct ReceiveMatched {
    template <typename L, typename Run>
    static void around(Event &e, Run run, auto buf, auto n, auto type, auto message, auto status) {
        e.matched(L::message(message));
        Statuses const own(L::ignored(status), status, scratch().statuses, 1);
        e.time([&] { return run(buf, n, type, message, own.argument()); });
        if (e.good()) {
            Group const unseen;
            Event::came(e.record, e.group ? *e.group : unseen, own.at(0));
        }
    }
};

struct StartedMatched {
    template <typename L, typename Run>
    static void around(Event &e, Run run, auto buf, auto n, auto type, auto message, auto request) {
        e.matched(L::message(message));
        e.time([&] { return run(buf, n, type, message, request); });
        if (e.good()) {
            e.record.received = L::number(n) * size_of(L::type(type));
            e.makes(L::request(request, 0), false, true);
        }
    }
};

struct Probe {
    template <typename L, typename Run>
    static void around(Event &e, Run run, auto from, auto tag, auto comm, auto status) {
        e.on(L::comm(comm));
        e.from(L::number(from));
        e.tagged(L::number(tag));
        e.time([&] { return run(from, tag, comm, status); });
    }
};

struct ProbeMatched {
    template <typename L, typename Run>
    static void around(Event &e, Run run, auto from, auto tag, auto comm, auto message, auto status) {
        e.on(L::comm(comm));
        e.from(L::number(from));
        e.tagged(L::number(tag));
        Statuses const own(L::ignored(status), status, scratch().statuses, 1);
        e.time([&] { return run(from, tag, comm, message, own.argument()); });
        if (e.good()) {
            e.matches(L::message(message), own.at(0));
        }
    }
};

/// Probes without success, many in a row, become one record.
inline void polled(Event &e, bool found) {
    if (e.good() && !found) {
        e.record.flags |= unfinished;
        e.record.request = 1;
    }
}

struct ProbeOnce {
    template <typename L, typename Run>
    static void around(Event &e, Run run, auto from, auto tag, auto comm, auto flag, auto status) {
        e.on(L::comm(comm));
        e.from(L::number(from));
        e.tagged(L::number(tag));
        e.time([&] { return run(from, tag, comm, flag, status); });
        polled(e, *flag != 0);
    }
};

struct ProbeMatchedOnce {
    template <typename L, typename Run>
    static void around(Event &e, Run run, auto from, auto tag, auto comm, auto flag, auto message, auto status) {
        e.on(L::comm(comm));
        e.from(L::number(from));
        e.tagged(L::number(tag));
        Statuses const own(L::ignored(status), status, scratch().statuses, 1);
        e.time([&] { return run(from, tag, comm, flag, message, own.argument()); });
        polled(e, *flag != 0);
        if (e.good() && *flag != 0) {
            e.matches(L::message(message), own.at(0));
        }
    }
};

} // namespace weft::trace
