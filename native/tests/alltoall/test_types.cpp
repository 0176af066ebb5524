// SPDX-License-Identifier: BSD-3-Clause
// Derived datatypes: gaps, negative lower bounds, elements out of order, different on both sides; null types; large
// elements cut by small staging.
#include "oracle.hpp"

#include <cstring>

namespace {

/// A committed datatype of three ints.
struct Type {
    Type(std::vector<MPI_Aint> places, MPI_Aint lower, MPI_Aint extent_bytes, int repeat = 1) : extent(extent_bytes) {
        for (int i = 1; i < repeat; ++i) {
            places.push_back(places[std::size_t(i - 1) * 3] + 24);
            places.push_back(places[std::size_t(i - 1) * 3 + 1] + 24);
            places.push_back(places[std::size_t(i - 1) * 3 + 2] + 24);
        }
        offsets = places;
        MPI_Datatype inner = MPI_DATATYPE_NULL;
        std::vector<int> const ones(places.size(), 1);
        MPI_Type_create_hindexed(int(places.size()), ones.data(), places.data(), MPI_INT, &inner);
        MPI_Type_create_resized(inner, lower, extent_bytes, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&inner);
    }
    Type(Type const &) = delete;
    Type &operator=(Type const &) = delete;
    ~Type() { MPI_Type_free(&type); }

    /// Offset of the i-th int of a block of elements from the block's start.
    MPI_Aint place(std::int64_t i) const {
        return i / std::int64_t(offsets.size()) * extent + offsets[std::size_t(i) % offsets.size()];
    }

    std::vector<MPI_Aint> offsets;
    MPI_Aint extent;
    MPI_Datatype type = MPI_DATATYPE_NULL;
};

int number(int source, int target, std::int64_t i) {
    return source * 1'000'000 + target * 1000 + int(i);
}

/// Blocks of elements of a type, in a memory with room before and behind.
struct Typed {
    Typed(Type const &of, std::vector<MPI_Count> how_many) : type(of), counts(std::move(how_many)) {
        MPI_Aint at = 2;
        for (MPI_Count const count : counts) {
            starts.push_back(at);
            at += MPI_Aint(count) + 1; // a gap of an element
        }
        memory.assign(std::size_t(at * of.extent) + 2 * oracle::zone, oracle::guard);
    }
    unsigned char *base() { return memory.data() + oracle::zone; }
    void put(int rank, std::int64_t i, int value) {
        std::memcpy(base() + starts[std::size_t(rank)] * type.extent + type.place(i), &value, sizeof value);
    }
    std::int64_t ints(int rank) const {
        return std::int64_t(counts[std::size_t(rank)]) * std::int64_t(type.offsets.size());
    }

    Type const &type;
    std::vector<MPI_Count> counts;
    std::vector<MPI_Aint> starts;
    std::vector<unsigned char> memory;
};

void check(char const *spec, Type const &send_type, Type const &receive_type, bool in_place, MPI_Comm comm,
           int times = 1) {
    oracle::Ranks const ranks(comm);
    std::int64_t const ratio = std::int64_t(send_type.offsets.size() / receive_type.offsets.size());
    std::vector<MPI_Count> sends, receives;
    for (int rank = 0; rank < ranks.count; ++rank) {
        MPI_Count const elements = (ranks.me + rank) % 4 * times;
        sends.push_back(elements);
        receives.push_back(elements * ratio);
    }
    Typed send(send_type, sends), receive(receive_type, receives);
    Typed wanted = receive;
    for (int rank = 0; rank < ranks.count; ++rank) {
        for (std::int64_t i = 0; i < wanted.ints(rank); ++i) {
            (in_place ? receive : send).put(rank, i, number(ranks.me, rank, i));
            wanted.put(rank, i, number(rank, ranks.me, i));
        }
    }
    int const code =
        in_place ? weft_alltoallv(spec, MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, receive.base(),
                                  receives.data(), receive.starts.data(), receive_type.type, comm)
                 : weft_alltoallv(spec, send.base(), sends.data(), send.starts.data(), send_type.type, receive.base(),
                                  receives.data(), receive.starts.data(), receive_type.type, comm);
    CHECK_MESSAGE(code == MPI_SUCCESS, weft_alltoall_error());
    CHECK(receive.memory == wanted.memory); // gaps included: bytes that are not in the type do not change
}

} // namespace

TEST_CASE("derived datatypes arrive element by element, and their gaps are not touched") {
    Type const gaps({0, 8, 16}, 0, 32);
    Type const negative({8, -12, 0}, -12, 28); // below the buffer's address, and out of order
    Type const backwards({8, 4, 0}, 0, 12);    // no gap, but not in order
    Type const dense({0, 4, 8}, 0, 12);
    Type const large({0, 8, 16}, 0, 24 * 50 + 8, 50); // 600 bytes of data an element
    for (char const *staging : {"64MiB", "4096"}) {
        oracle::Placed const placed(MPI_COMM_WORLD, "sizes:2,1,3", staging);
        for (std::string const &spec : oracle::specs()) {
            CAPTURE(staging);
            CAPTURE(spec);
            for (auto const &[send, receive] : {std::pair{&gaps, &negative},
                                                {&negative, &gaps},
                                                {&backwards, &dense},
                                                {&dense, &backwards},
                                                {&gaps, &gaps},
                                                {&large, &gaps},
                                                {&large, &large}}) {
                check(spec.c_str(), *send, *receive, false, placed.comm);
            }
            if (spec != "pmpi") {
                check(spec.c_str(), gaps, negative, true, placed.comm);
                check(spec.c_str(), large, large, true, placed.comm);
            }
        }
    }
}

TEST_CASE("blocks with gaps that an order by the matrix cuts arrive as those without") {
    Type const gaps({0, 8, 16}, 0, 32);
    Type const dense({0, 4, 8}, 0, 12);
    for (char const *where : {"block:1", "sizes:2,1,3"}) {
        oracle::Placed const placed(MPI_COMM_WORLD, where);
        for (auto const &[send, receive] :
             {std::pair{&gaps, &dense}, {&dense, &gaps}, {&gaps, &gaps}, {&dense, &dense}}) {
            CAPTURE(where);
            check("sched.matrix", *send, *receive, false, placed.comm, 3001);
            check("sched.matrix{w=1}", *receive, *receive, true, placed.comm, 3001);
        }
    }
}

TEST_CASE("zero counts are judged in bytes, and null types with zero counts are nothing") {
    oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
    oracle::Placed const mates(MPI_COMM_WORLD, "block:2"); // some of each kind on one node
    oracle::Ranks const ranks(placed.comm);
    oracle::Uniform(1, ranks).check("bruck", false, mates.comm); // the settings are read at first use
    placed.set();
    MPI_Datatype empty = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    std::vector<MPI_Count> const zeros(std::size_t(ranks.count), 0), fives(std::size_t(ranks.count), 5);
    std::vector<MPI_Aint> const places(std::size_t(ranks.count), 0);
    for (std::string const &spec : oracle::specs()) {
        if (spec == "pmpi" || ranks.count == 1) {
            continue; // the library's own call: libraries differ
        }
        CAPTURE(spec);
        // some ranks send five elements of nothing, others none of something
        bool const odd = ranks.me % 2 == 1;
        CHECK(weft_alltoall(spec.c_str(), nullptr, odd ? 5 : 0, odd ? empty : MPI_INT, nullptr, odd ? 0 : 5,
                            odd ? MPI_DOUBLE : empty, placed.comm) == MPI_SUCCESS);
        // and some by an empty type on both sides, others by the count: no rank may leave before the others
        CHECK(weft_alltoall(spec.c_str(), nullptr, odd ? 5 : 0, odd ? empty : MPI_INT, nullptr, odd ? 5 : 0,
                            odd ? empty : MPI_INT, ranks.count > 2 ? mates.comm : placed.comm) == MPI_SUCCESS);
        CHECK(weft_alltoallv(spec.c_str(), nullptr, (odd ? fives : zeros).data(), places.data(),
                             odd ? empty : MPI_DATATYPE_NULL, nullptr, (odd ? zeros : fives).data(), places.data(),
                             odd ? MPI_DATATYPE_NULL : empty, placed.comm) == MPI_SUCCESS);
    }
    MPI_Type_free(&empty);
}

TEST_CASE("MPI_BOTTOM with absolute addresses") {
    oracle::Placed const placed(MPI_COMM_WORLD, "block:2");
    oracle::Ranks const ranks(placed.comm);
    std::vector<int> send, receive(std::size_t(ranks.count), -1);
    for (int rank = 0; rank < ranks.count; ++rank) {
        send.push_back(number(ranks.me, rank, 0));
    }
    auto const absolute = [&](int *address) {
        MPI_Aint place = 0;
        MPI_Get_address(address, &place);
        MPI_Datatype plain = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
        int const one = 1;
        MPI_Type_create_hindexed(1, &one, &place, MPI_INT, &plain);
        MPI_Type_create_resized(plain, place, sizeof(int), &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&plain);
        return type;
    };
    MPI_Datatype from = absolute(send.data()), to = absolute(receive.data());
    for (std::string const &spec : oracle::specs()) {
        CAPTURE(spec);
        std::fill(receive.begin(), receive.end(), -1);
        CHECK(weft_alltoall(spec.c_str(), MPI_BOTTOM, 1, from, MPI_BOTTOM, 1, to, placed.comm) == MPI_SUCCESS);
        for (int rank = 0; rank < ranks.count; ++rank) {
            CHECK(receive[std::size_t(rank)] == number(rank, ranks.me, 0));
        }
    }
    MPI_Type_free(&from);
    MPI_Type_free(&to);
}

TEST_CASE("an own block is read from its packed copy as bytes, whatever type it had: libraries take a short one") {
    oracle::Ranks const ranks(MPI_COMM_WORLD);
    if (ranks.count == 1) {
        return;
    }
    MPI_Datatype spread = MPI_DATATYPE_NULL; // two ints, eight bytes apart
    MPI_Type_vector(2, 1, 2, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    std::vector<MPI_Count> sends(std::size_t(ranks.count)), receives(sends.size());
    std::vector<MPI_Aint> const places(sends.size());
    sends[std::size_t(ranks.me)] = 1;
    receives[std::size_t(ranks.me)] = 4;
    for (char const *spec :
         {"flat.window", "flat.pairwise", "bruck", "node.multi", "node.direct", "node.bruck", "sched.matrix"}) {
        CAPTURE(std::string(spec));
        oracle::Placed const placed(MPI_COMM_WORLD, "block:1");
        std::vector<int> memory = {10, 11, 12, 13};
        CHECK(weft_alltoallv(spec, memory.data(), sends.data(), places.data(), spread, memory.data(), receives.data(),
                             places.data(), MPI_INT, placed.comm) == MPI_SUCCESS);
        CHECK(memory == std::vector<int>{10, 12, 12, 13});
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Type_free(&spread);
}
