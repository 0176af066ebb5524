// SPDX-License-Identifier: BSD-3-Clause
// Families of one-sided calls: counted, with their target.
#pragma once

#include "point_to_point.hpp"

namespace weft::trace {

inline void at_target(Event &e, MPI_Win window, std::int64_t target) {
    e.group = tracer().groups().of_window(window);
    e.to(target);
}

/// MPI_Put and MPI_Accumulate, which has an operation before the window.
struct Put : Plain<Put> {
    template <typename L, typename... A>
    static void after(Event &e, auto, auto n, auto type, auto target, auto, auto, auto, A... rest) {
        at_target(e, L::window(std::get<sizeof...(A) - 1>(std::tuple(rest...))), L::number(target));
        e.record.bytes = L::number(n) * size_of(L::type(type));
    }
};

struct Get : Plain<Get> {
    template <typename L>
    static void after(Event &e, auto, auto n, auto type, auto target, auto, auto, auto, auto window) {
        at_target(e, L::window(window), L::number(target));
        e.record.received = L::number(n) * size_of(L::type(type));
    }
};

struct GetAccumulate : Plain<GetAccumulate> {
    template <typename L>
    static void after(Event &e, auto, auto n, auto type, auto, auto rn, auto rt, auto target, auto, auto, auto, auto,
                      auto window) {
        at_target(e, L::window(window), L::number(target));
        e.record.bytes = L::number(n) * size_of(L::type(type));
        e.record.received = L::number(rn) * size_of(L::type(rt));
    }
};

struct FetchAndOp : Plain<FetchAndOp> {
    template <typename L> static void after(Event &e, auto, auto, auto type, auto target, auto, auto, auto window) {
        at_target(e, L::window(window), L::number(target));
        e.record.bytes = e.record.received = size_of(L::type(type));
    }
};

struct CompareAndSwap : Plain<CompareAndSwap> {
    template <typename L> static void after(Event &e, auto, auto, auto, auto type, auto target, auto, auto window) {
        at_target(e, L::window(window), L::number(target));
        e.record.bytes = e.record.received = size_of(L::type(type));
    }
};

using OnWindow = Timed;

struct FreeWindow {
    template <typename L, typename Run> static void around(Event &e, Run run, auto window) {
        tracer().groups().forget_window(L::window_in(window));
        e.time([&] { return run(window); });
    }
};

} // namespace weft::trace
