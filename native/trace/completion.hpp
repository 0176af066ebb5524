// SPDX-License-Identifier: BSD-3-Clause
// Families of calls that start, complete or drop requests.
#pragma once

#include "point_to_point.hpp"

namespace weft::trace {

/// The requests of a call as they were before it: the call itself overwrites their handles. Where several threads call
/// MPI, another one may be given the same handle before we ask what it was, so they are taken out before the call, and
/// those that did not end are put back.
template <typename L> class Before {
  public:
    Before(auto requests, int count) : handles_(scratch().handles), pending_(scratch().pending) {
        handles_.clear();
        pending_.clear();
        for (int i = 0; i < count; ++i) {
            handles_.push_back(L::request(requests, i));
            if (tracer().many_threads()) {
                pending_.push_back(tracer().requests().take(handles_.back()));
            }
        }
    }
    Before(Before const &) = delete;
    Before &operator=(Before const &) = delete;
    ~Before() {
        for (std::size_t i = 0; i < pending_.size(); ++i) {
            if (pending_[i].number != 0 && !pending_[i].is_persistent) {
                tracer().requests().put_back(handles_[i], std::move(pending_[i]));
            }
        }
    }
    void completed(Event &e, int i, MPI_Status const &status) {
        if (i >= 0 && i < int(handles_.size())) {
            MPI_Request const handle = handles_[std::size_t(i)];
            e.completes(handle, pending_.empty() ? tracer().requests().find(handle) : pending_[std::size_t(i)], status);
            if (!pending_.empty()) {
                pending_[std::size_t(i)].number = 0;
            }
        }
    }
    int count() const noexcept { return int(handles_.size()); }

  private:
    std::vector<MPI_Request> &handles_;
    std::vector<Request> &pending_;
};

struct Wait {
    template <typename L, typename Run> static void around(Event &e, Run run, auto request, auto status) {
        Before<L> before(request, 1);
        Statuses const own(L::ignored(status), status, scratch().statuses, 1);
        e.time([&] { return run(request, own.argument()); });
        if (e.good()) {
            before.completed(e, 0, own.at(0));
        }
    }
};

struct Test {
    template <typename L, typename Run> static void around(Event &e, Run run, auto request, auto flag, auto status) {
        Before<L> before(request, 1);
        Statuses const own(L::ignored(status), status, scratch().statuses, 1);
        e.time([&] { return run(request, flag, own.argument()); });
        polled(e, *flag != 0);
        if (e.good() && *flag != 0) {
            before.completed(e, 0, own.at(0));
        }
    }
};

template <typename L, typename S> void all_completed(Event &e, Before<L> &before, S const &statuses) {
    for (int i = 0; i < before.count(); ++i) {
        before.completed(e, i, statuses.at(i));
    }
}

struct WaitAll {
    template <typename L, typename Run> static void around(Event &e, Run run, auto n, auto requests, auto statuses) {
        Before<L> before(requests, int(L::number(n)));
        Statuses const own(L::ignored(statuses), statuses, scratch().statuses, std::size_t(before.count()));
        e.time([&] { return run(n, requests, own.argument()); });
        if (e.good()) {
            all_completed(e, before, own);
        }
    }
};

struct TestAll {
    template <typename L, typename Run>
    static void around(Event &e, Run run, auto n, auto requests, auto flag, auto statuses) {
        Before<L> before(requests, int(L::number(n)));
        Statuses const own(L::ignored(statuses), statuses, scratch().statuses, std::size_t(before.count()));
        e.time([&] { return run(n, requests, flag, own.argument()); });
        polled(e, *flag != 0);
        if (e.good() && *flag != 0) {
            all_completed(e, before, own);
        }
    }
};

struct WaitAny {
    template <typename L, typename Run>
    static void around(Event &e, Run run, auto n, auto requests, auto index, auto status) {
        Before<L> before(requests, int(L::number(n)));
        Statuses const own(L::ignored(status), status, scratch().statuses, 1);
        e.time([&] { return run(n, requests, index, own.argument()); });
        if (e.good() && *index != MPI_UNDEFINED) {
            before.completed(e, int(*index) - L::first_index(), own.at(0));
        }
    }
};

struct TestAny {
    template <typename L, typename Run>
    static void around(Event &e, Run run, auto n, auto requests, auto index, auto flag, auto status) {
        Before<L> before(requests, int(L::number(n)));
        Statuses const own(L::ignored(status), status, scratch().statuses, 1);
        e.time([&] { return run(n, requests, index, flag, own.argument()); });
        polled(e, *flag != 0);
        if (e.good() && *flag != 0 && *index != MPI_UNDEFINED) {
            before.completed(e, int(*index) - L::first_index(), own.at(0));
        }
    }
};

/// MPI_Waitsome and MPI_Testsome.
struct WaitSome {
    template <typename L, typename Run>
    static void around(Event &e, Run run, auto n, auto requests, auto done, auto indices, auto statuses) {
        Before<L> before(requests, int(L::number(n)));
        Statuses const own(L::ignored(statuses), statuses, scratch().statuses, std::size_t(before.count()));
        e.time([&] { return run(n, requests, done, indices, own.argument()); });
        polled(e, *done != 0);
        for (int i = 0; e.good() && *done != MPI_UNDEFINED && i < int(*done); ++i) {
            before.completed(e, int(indices[i]) - L::first_index(), own.at(i));
        }
    }
};

/// What a persistent request does when it is started: as its own non-blocking call would be recorded.
inline void fill_start(Record &into, Request const &request) {
    into.flags |= request.given.flags;
    into.comm = request.given.comm;
    into.peer = request.given.peer;
    into.tag = request.given.tag;
    into.bytes = request.given.bytes;
    into.received = request.given.received;
    into.request = request.number;
}

// Before the call: when it returns, another thread may already wait for the request.
struct Start {
    template <typename L, typename Run> static void around(Event &e, Run run, auto request) {
        fill_start(e.record, tracer().requests().start(L::request(request, 0)));
        e.time([&] { return run(request); });
    }
};

/// One MPI_Start for each request, which takes no time of its own.
struct StartAll {
    template <typename L, typename Run> static void around(Event &e, Run run, auto n, auto requests) {
        e.time([&] { return run(n, requests); });
        Record const whole = e.record;
        int const count = int(L::number(n));
        for (int i = 0; i < count; ++i) {
            Record one = whole;
            one.end_ns = one.begin_ns; // the time is that of MPI_Startall
            one.call = std::uint16_t(Call::Start);
            fill_start(one, tracer().requests().start(L::request(requests, i)));
            tracer().file().append(one);
        }
    }
};

struct FreeRequest {
    template <typename L, typename Run> static void around(Event &e, Run run, auto request) {
        MPI_Request const handle = L::request(request, 0);
        e.record.request = tracer().requests().find(handle).number;
        tracer().requests().forget(handle);
        e.time([&] { return run(request); });
    }
};

/// Asks whether a request has ended, and leaves it: the wait or test that ends it comes later.
struct AskRequest {
    template <typename L, typename Run> static void around(Event &e, Run run, auto request, auto flag, auto status) {
        e.time([&] { return run(request, flag, status); });
        polled(e, *flag != 0);
    }
};

struct Cancel {
    template <typename L, typename Run> static void around(Event &e, Run run, auto request) {
        MPI_Request const handle = L::request(request, 0);
        e.record.request = tracer().requests().find(handle).number;
        tracer().requests().cancel(handle);
        e.time([&] { return run(request); });
    }
};

} // namespace weft::trace
