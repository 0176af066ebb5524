// SPDX-License-Identifier: BSD-3-Clause
// Families of collective calls: bytes of their arguments, where these count on this rank.
#pragma once

#include "point_to_point.hpp"

namespace weft::trace {

/// Which part a rank has in a call with a root. On an intercommunicator the root's group says MPI_ROOT or
/// MPI_PROC_NULL.
struct Part {
    bool is_root, is_other;
};
inline Part part_of(Event &e, std::int64_t root) {
    Group const &group = *e.group;
    if (group.inter) {
        e.record.peer = group.world_rank(int(root));
        return {root == MPI_ROOT, root >= 0};
    }
    e.to(root);
    return {root == group.rank, true};
}

template <typename L> std::int64_t sum_of(auto values, int n) {
    std::int64_t sum = 0;
    for (int i = 0; i < n; ++i) {
        sum += values[i];
    }
    return sum;
}

inline bool noted_in_place(Event &e, bool is) {
    e.record.flags |= is ? in_place : 0;
    return is;
}

struct OnComm : Plain<OnComm> {
    template <typename L, typename... A> static void after(Event &e, A... a) {
        e.on(L::comm(std::get<sizeof...(A) - 1>(std::tuple(a...))));
    }
};

struct Barrier : OnComm {};

struct Broadcast : Plain<Broadcast> {
    template <typename L> static void after(Event &e, auto, auto n, auto type, auto root, auto comm) {
        e.on(L::comm(comm));
        Part const part = part_of(e, L::number(root));
        if (part.is_root || part.is_other) {
            (part.is_root ? e.record.bytes : e.record.received) = L::number(n) * size_of(L::type(type));
        }
    }
};

struct Reduce : Plain<Reduce> {
    template <typename L> static void after(Event &e, auto s, auto r, auto n, auto type, auto, auto root, auto comm) {
        e.on(L::comm(comm));
        Part const part = part_of(e, L::number(root));
        noted_in_place(e, L::in_place(s) || L::in_place(r));
        std::int64_t const bytes = L::number(n) * size_of(L::type(type));
        e.record.bytes = part.is_other ? bytes : 0;
        e.record.received = part.is_root ? bytes : 0;
    }
};

struct AllReduce : Plain<AllReduce> {
    template <typename L> static void after(Event &e, auto s, auto, auto n, auto type, auto, auto comm) {
        e.on(L::comm(comm));
        noted_in_place(e, L::in_place(s));
        e.record.bytes = e.record.received = L::number(n) * size_of(L::type(type));
    }
};

struct Gather : Plain<Gather> {
    template <typename L>
    static void after(Event &e, auto s, auto sn, auto st, auto, auto rn, auto rt, auto root, auto comm) {
        Group const &group = e.on(L::comm(comm));
        Part const part = part_of(e, L::number(root));
        bool const in = noted_in_place(e, L::in_place(s));
        std::int64_t const block = part.is_root ? L::number(rn) * size_of(L::type(rt)) : 0;
        e.record.bytes = !part.is_other ? 0 : in ? block : L::number(sn) * size_of(L::type(st));
        e.record.received = block * group.size;
    }
};

struct GatherV : Plain<GatherV> {
    template <typename L>
    static void after(Event &e, auto s, auto sn, auto st, auto, auto rn, auto, auto rt, auto root, auto comm) {
        Group const &group = e.on(L::comm(comm));
        Part const part = part_of(e, L::number(root));
        bool const in = noted_in_place(e, L::in_place(s));
        std::int64_t const unit = part.is_root ? size_of(L::type(rt)) : 0;
        e.record.received = part.is_root ? unit * sum_of<L>(rn, group.size) : 0;
        e.record.bytes = !part.is_other ? 0 : in ? unit * rn[group.rank] : L::number(sn) * size_of(L::type(st));
    }
};

struct Scatter : Plain<Scatter> {
    template <typename L>
    static void after(Event &e, auto, auto sn, auto st, auto r, auto rn, auto rt, auto root, auto comm) {
        Group const &group = e.on(L::comm(comm));
        Part const part = part_of(e, L::number(root));
        bool const in = noted_in_place(e, L::in_place(r));
        std::int64_t const block = part.is_root ? L::number(sn) * size_of(L::type(st)) : 0;
        e.record.bytes = block * group.size;
        e.record.received = !part.is_other ? 0 : in ? block : L::number(rn) * size_of(L::type(rt));
    }
};

struct ScatterV : Plain<ScatterV> {
    template <typename L>
    static void after(Event &e, auto, auto sn, auto, auto st, auto r, auto rn, auto rt, auto root, auto comm) {
        Group const &group = e.on(L::comm(comm));
        Part const part = part_of(e, L::number(root));
        bool const in = noted_in_place(e, L::in_place(r));
        if (part.is_root) {
            std::int64_t const unit = size_of(L::type(st));
            e.record.bytes = unit * sum_of<L>(sn, group.size);
            e.counts_to(group.size, [&](int i) { return unit * sn[i]; });
        }
        e.record.received = !part.is_other ? 0 : in ? 0 : L::number(rn) * size_of(L::type(rt));
    }
};

struct AllGather : Plain<AllGather> {
    template <typename L> static void after(Event &e, auto s, auto sn, auto st, auto, auto rn, auto rt, auto comm) {
        Group const &group = e.on(L::comm(comm));
        std::int64_t const block = L::number(rn) * size_of(L::type(rt));
        e.record.bytes = noted_in_place(e, L::in_place(s)) ? block : L::number(sn) * size_of(L::type(st));
        e.record.received = block * group.size;
    }
};

struct AllGatherV : Plain<AllGatherV> {
    template <typename L>
    static void after(Event &e, auto s, auto sn, auto st, auto, auto rn, auto, auto rt, auto comm) {
        Group const &group = e.on(L::comm(comm));
        std::int64_t const unit = size_of(L::type(rt));
        bool const in = noted_in_place(e, L::in_place(s));
        e.record.bytes = in ? unit * rn[group.rank] : L::number(sn) * size_of(L::type(st));
        e.record.received = unit * sum_of<L>(rn, group.size);
    }
};

struct AllToAll : Plain<AllToAll> {
    template <typename L> static void after(Event &e, auto s, auto sn, auto st, auto, auto rn, auto rt, auto comm) {
        Group const &group = e.on(L::comm(comm));
        e.record.received = L::number(rn) * size_of(L::type(rt)) * group.size;
        e.record.bytes =
            noted_in_place(e, L::in_place(s)) ? e.record.received : L::number(sn) * size_of(L::type(st)) * group.size;
    }
};

struct AllToAllV : Plain<AllToAllV> {
    template <typename L>
    static void after(Event &e, auto s, auto sn, auto, auto st, auto, auto rn, auto, auto rt, auto comm) {
        Group const &group = e.on(L::comm(comm));
        bool const in = noted_in_place(e, L::in_place(s));
        std::int64_t const gets = size_of(L::type(rt)), gives = in ? gets : size_of(L::type(st));
        auto const *const counts_sent = in ? rn : sn;
        e.record.bytes = gives * sum_of<L>(counts_sent, group.size);
        e.record.received = gets * sum_of<L>(rn, group.size);
        e.counts_to(group.size, [&](int i) { return gives * counts_sent[i]; });
    }
};

struct AllToAllW : Plain<AllToAllW> {
    template <typename L>
    static void after(Event &e, auto s, auto sn, auto, auto st, auto, auto rn, auto, auto rt, auto comm) {
        Group const &group = e.on(L::comm(comm));
        bool const in = noted_in_place(e, L::in_place(s));
        auto const sent = [&](int i) {
            return in ? rn[i] * size_of(L::type_at(rt, i)) : sn[i] * size_of(L::type_at(st, i));
        };
        for (int i = 0; i < group.size; ++i) {
            e.record.bytes += sent(i);
            e.record.received += rn[i] * size_of(L::type_at(rt, i));
        }
        e.counts_to(group.size, sent);
    }
};

struct ReduceScatter : Plain<ReduceScatter> {
    template <typename L> static void after(Event &e, auto s, auto, auto n, auto type, auto, auto comm) {
        Group const &group = e.on(L::comm(comm));
        noted_in_place(e, L::in_place(s));
        if (!group.inter) { // else the counts are those of this rank's own group, whose size we did not keep
            std::int64_t const unit = size_of(L::type(type));
            e.record.bytes = unit * sum_of<L>(n, group.size);
            e.record.received = unit * n[group.rank];
            e.counts_to(group.size, [&](int i) { return unit * n[i]; });
        }
    }
};

struct ReduceScatterBlock : Plain<ReduceScatterBlock> {
    template <typename L> static void after(Event &e, auto s, auto, auto n, auto type, auto, auto comm) {
        Group const &group = e.on(L::comm(comm));
        noted_in_place(e, L::in_place(s));
        e.record.received = L::number(n) * size_of(L::type(type));
        e.record.bytes = e.record.received * group.size;
    }
};

/// A new communicator behind all other arguments, made from the first.
struct NewComm : Plain<NewComm> {
    template <typename L, typename... A> static void after(Event &e, A... a) {
        auto const all = std::tuple(a...);
        MPI_Comm const parent = L::comm(std::get<0>(all));
        MPI_Comm const made = L::comm_in(std::get<sizeof...(A) - 1>(all));
        e.on(parent);
        if (made != MPI_COMM_NULL) {
            tracer().groups().define(made, parent, tracer().file());
        }
    }
};

/// Libraries name the new communicator at once. It is numbered here, in the order that all members agree on: their
/// first uses of two of them need not come in the same order.
struct DuplicateLater : Plain<DuplicateLater> {
    template <typename L> static void after(Event &e, auto comm, auto made, auto request) {
        e.on(L::comm(comm));
        if (L::comm_in(made) != MPI_COMM_NULL) {
            tracer().groups().define_duplicate(L::comm_in(made), L::comm(comm), tracer().file());
        }
        e.makes(L::request(request, 0), false, false);
    }
};

struct FreeComm {
    template <typename L, typename Run> static void around(Event &e, Run run, auto comm) {
        MPI_Comm const gone = L::comm_in(comm);
        e.on(gone);
        tracer().groups().forget(gone); // before: afterwards another thread may be given the handle
        e.time([&] { return run(comm); });
    }
};

} // namespace weft::trace
