// SPDX-License-Identifier: BSD-3-Clause
#include "groups.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <utility>

namespace weft::trace {

namespace {

constexpr std::size_t members_each = payload_bytes / sizeof(std::int32_t);

std::uint64_t hash_of(std::vector<std::int32_t> const &members) noexcept {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (std::int32_t const member : members) {
        hash = (hash ^ std::uint32_t(member)) * 0x100000001B3ULL;
        hash ^= hash >> 29;
    }
    return hash;
}

void add_members(std::vector<Record> &parts, Group const &group) {
    for (std::size_t first = 0; first < group.world.size(); first += members_each) {
        std::size_t const valid = std::min(members_each, group.world.size() - first);
        Record part;
        part.call = members;
        part.site = std::uint32_t(first);
        part.comm = group.id;
        part.peer = std::int32_t(valid);
        std::memcpy(reinterpret_cast<char *>(&part) + offsetof(Record, begin_ns), &group.world[first],
                    valid * sizeof(std::int32_t));
        parts.push_back(part);
    }
}

/// Sources and targets of neighbourhood calls, as ranks of the communicator (MPI 4.1, 8.6).
std::pair<std::vector<int>, std::vector<int>> neighbours_in(MPI_Comm comm, int rank) {
    std::vector<int> from, to;
    int kind = MPI_UNDEFINED;
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        int dimensions = 0;
        PMPI_Cartdim_get(comm, &dimensions);
        for (int each = 0; each < dimensions; ++each) {
            int below = MPI_PROC_NULL, above = MPI_PROC_NULL;
            PMPI_Cart_shift(comm, each, 1, &below, &above);
            from.insert(from.end(), {below, above});
        }
        to = from;
    } else if (kind == MPI_GRAPH) {
        int count = 0;
        PMPI_Graph_neighbors_count(comm, rank, &count);
        from.resize(std::size_t(count));
        PMPI_Graph_neighbors(comm, rank, count, from.data());
        to = from;
    } else if (kind == MPI_DIST_GRAPH) {
        int in = 0, out = 0, weighted = 0;
        PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
        from.resize(std::size_t(in));
        to.resize(std::size_t(out));
        std::vector<int> in_weights(from.size() + 1), out_weights(to.size() + 1);
        PMPI_Dist_graph_neighbors(comm, in, from.data(), weighted != 0 ? in_weights.data() : MPI_UNWEIGHTED, out,
                                  to.data(), weighted != 0 ? out_weights.data() : MPI_UNWEIGHTED);
    }
    return {from, to};
}

} // namespace

std::int32_t Group::world_rank(int member) const noexcept {
    if (member == MPI_PROC_NULL) {
        return proc_null;
    }
    if (member < 0 || member >= size) {
        return no_peer; // MPI_ANY_SOURCE, MPI_ROOT
    }
    return world.empty() ? member : world[std::size_t(member)];
}

void Groups::begin() {
    PMPI_Comm_group(MPI_COMM_WORLD, &world_group_);
    Group world, self;
    world.id = world_id;
    PMPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &world.size);
    std::vector<std::int32_t> all(std::size_t(world.size), 0);
    std::iota(all.begin(), all.end(), 0);
    world.hash = hash_of(all);
    self.id = self_id;
    self.world = {world.rank};
    self.hash = hash_of(self.world);
    known_[MPI_COMM_WORLD] = std::make_shared<Group>(world);
    known_[MPI_COMM_SELF] = std::make_shared<Group>(self);
}

std::vector<std::int32_t> Groups::translated(MPI_Group group) const {
    int size = 0;
    PMPI_Group_size(group, &size);
    std::vector<int> own(std::size_t(size), 0), there(std::size_t(size), 0);
    std::iota(own.begin(), own.end(), 0);
    PMPI_Group_translate_ranks(group, size, own.data(), world_group_, there.data());
    for (int &rank : there) {
        rank = rank == MPI_UNDEFINED ? no_peer : rank; // a spawned process
    }
    return {there.begin(), there.end()};
}

Group Groups::asked(MPI_Comm comm) const {
    Group group;
    int inter = 0;
    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_rank(comm, &group.rank);
    MPI_Group mine = MPI_GROUP_NULL, other = MPI_GROUP_NULL;
    PMPI_Comm_group(comm, &mine);
    group.world = translated(mine);
    PMPI_Group_free(&mine);
    group.hash = hash_of(group.world);
    group.inter = inter != 0;
    if (group.inter) {
        PMPI_Comm_remote_group(comm, &other);
        group.world = translated(other);
        PMPI_Group_free(&other);
        group.hash += hash_of(group.world); // either side's view
    }
    group.size = int(group.world.size());
    return group;
}

// The same number on all ranks without communication: members, and how many communicators they had before. Making one
// is collective, so its members agree on that.
GroupPointer Groups::numbered(Group group, MPI_Comm parent, File &file) {
    group.id = ++made_;
    auto const above = known_.find(parent);
    bool const as_above = above != known_.end() && !group.inter && above->second->hash == group.hash;
    bool const has_strangers = std::find(group.world.begin(), group.world.end(), no_peer) != group.world.end();
    Record head;
    head.call = communicator;
    head.comm = group.id;
    head.peer = group.rank;
    head.begin_ns = std::int64_t((group.hash ^ (++made_of_members_[group.hash] * 0x9E3779B97F4A7C15ULL)) | 1ULL << 63);
    head.end_ns = group.size;
    head.bytes = above == known_.end() ? 0 : above->second->id;
    head.received = (group.inter ? 1 : 0) | (as_above ? 2 : 0) | (has_strangers ? 4 : 0);
    std::vector<Record> parts{head};
    if (!as_above) {
        add_members(parts, group);
    }
    if (!file.define_if_room(parts)) {
        group.id = 0;
    }
    return std::make_shared<Group>(std::move(group));
}

// Under the lock.
GroupPointer const &Groups::seen(MPI_Comm comm, File &file) {
    GroupPointer &place = known_[comm];
    if (!place) {
        place = comm == MPI_COMM_NULL ? std::make_shared<Group>() : numbered(asked(comm), MPI_COMM_NULL, file);
    }
    return place;
}

GroupPointer const &Groups::of(MPI_Comm comm, File &file) {
    thread_local MPI_Comm last = MPI_COMM_NULL;
    thread_local std::uint64_t last_generation = 0;
    thread_local GroupPointer found;
    if (last != comm || last_generation != generation_.load(std::memory_order_acquire)) {
        std::lock_guard const lock(guard_);
        found = seen(comm, file);
        last = comm;
        last_generation = generation_;
    }
    return found;
}

void Groups::define(MPI_Comm comm, MPI_Comm parent, File &file) {
    std::lock_guard const lock(guard_);
    known_[comm] = numbered(asked(comm), parent, file);
    ++generation_;
}

void Groups::define_duplicate(MPI_Comm comm, MPI_Comm parent, File &file) {
    std::lock_guard const lock(guard_);
    known_[comm] = numbered(*seen(parent, file), parent, file);
    ++generation_;
}

GroupPointer Groups::of_window(MPI_Win window) {
    std::lock_guard const lock(guard_);
    GroupPointer &place = windows_[window];
    if (!place) {
        auto group = std::make_shared<Group>();
        MPI_Group inside = MPI_GROUP_NULL;
        if (window != MPI_WIN_NULL && PMPI_Win_get_group(window, &inside) == MPI_SUCCESS) {
            group->world = translated(inside);
            group->size = int(group->world.size());
            PMPI_Group_free(&inside);
        }
        place = group;
    }
    return place;
}

NeighboursPointer Groups::neighbours(MPI_Comm comm, Group const &group) {
    std::lock_guard const lock(guard_);
    NeighboursPointer &place = neighbours_[comm];
    if (!place) {
        auto [from, to] = neighbours_in(comm, group.rank);
        auto const in_world = [&](std::vector<int> const &members) {
            std::vector<std::int32_t> ranks;
            std::transform(members.begin(), members.end(), std::back_inserter(ranks),
                           [&](int member) { return group.world_rank(member); });
            return ranks;
        };
        place = std::make_shared<Neighbours const>(Neighbours{in_world(from), in_world(to)});
    }
    return place;
}

void Groups::forget(MPI_Comm comm) {
    std::lock_guard const lock(guard_);
    known_.erase(comm);
    neighbours_.erase(comm);
    ++generation_;
}

void Groups::forget_window(MPI_Win window) {
    std::lock_guard const lock(guard_);
    windows_.erase(window);
}

} // namespace weft::trace
