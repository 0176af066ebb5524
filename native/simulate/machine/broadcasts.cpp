// SPDX-License-Identifier: BSD-3-Clause
// Open MPI's broadcasts. SMPI 3.32 has the table by which Open MPI 4.1 chooses, but under four of its numbers
// other algorithms: those here cut the message and send the pieces one behind the other, where Open MPI, which chooses
// no size of pieces, sends it whole. "Basic linear" is a chain of 8 KiB there ("NTSL"): half the time at eight ranks.
// The halves of the split binary tree went in pieces of 1 KiB, none of which asked first.
#include "smpi_names.hpp"

#include <vector>

namespace simgrid::smpi {
namespace {

using Bcast = int(void *, int, Datatype *, int, Comm *);

constexpr int tag = -417; // no application has one below zero

// Ranks are counted from the root on: all above the place give to it, it gives to those below.
struct Place {
    int above = -1;
    std::vector<int> below;
};

Place in_chain(int place, int ranks) {
    return {place - 1, place + 1 < ranks ? std::vector{place + 1} : std::vector<int>{}};
}

// The two below are as far away as the level has places: 0 gives to 1 and 2, 1 to 3 and 5, 2 to 4 and 6.
Place in_tree(int place, int ranks) {
    int wide = 1;
    while (2 * wide - 1 <= place) {
        wide *= 2;
    }
    Place found;
    if (place > 0) {
        int const higher = wide / 2;
        found.above = place - higher < wide - 1 ? place - higher : place - wide;
    }
    for (int const next : {place + wide, place + 2 * wide}) {
        if (next < ranks) {
            found.below.push_back(next);
        }
    }
    return found;
}

// Inlined, so that the algorithm itself is on the stack when it sends (algorithm.cpp).
[[gnu::always_inline]] inline int sent_whole(void *data, int count, Datatype *type, int root, Comm *comm,
                                             Place (*place_of)(int, int)) {
    int rank = 0, ranks = 1;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    auto const [above, below] = place_of((rank - root + ranks) % ranks, ranks);
    if (above >= 0) {
        Request::recv(data, count, type, (above + root) % ranks, tag, comm, MPI_STATUS_IGNORE);
    }
    std::vector<Request *> sent;
    for (int const next : below) {
        sent.push_back(Request::isend(data, count, type, (next + root) % ranks, tag, comm));
    }
    for (Request *&each : sent) {
        Request::wait(&each, MPI_STATUS_IGNORE);
    }
    return MPI_SUCCESS;
}

// Of a message in two halves, the first goes to odd places of the tree, which all lie below place 1, and the second to
// even ones; then places 1 and 2, 3 and 4 and so on exchange them. With an even number of ranks the last place has no
// such partner, and its other half comes from the root.
[[gnu::always_inline]] inline int sent_split(void *data, int count, Datatype *type, int root, Comm *comm) {
    int rank = 0, ranks = 1;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    MPI_Aint least = 0, extent = 0;
    PMPI_Type_get_extent(type, &least, &extent);
    int const counts[] = {count - count / 2, count / 2};
    void *const halves[] = {data, static_cast<char *>(data) + counts[0] * extent};
    auto const rank_at = [&](int place) { return (place + root) % ranks; };
    auto const send = [&](int half, int place) {
        Request::send(halves[half], counts[half], type, rank_at(place), tag, comm);
    };
    auto const receive = [&](int half, int place) {
        Request::recv(halves[half], counts[half], type, rank_at(place), tag, comm, MPI_STATUS_IGNORE);
    };
    int const place = (rank - root + ranks) % ranks, last = ranks - 1;
    bool const last_alone = ranks % 2 == 0;
    int const mine = place % 2 == 0 ? 1 : 0, other = 1 - mine;
    auto const [above, below] = in_tree(place, ranks);
    if (place > 0) {
        receive(mine, above);
    }
    for (int const next : below) {
        send(place > 0 ? mine : 1 - next % 2, next);
    }
    if (place == 0) {
        if (last_alone) {
            send(1, last);
        }
    } else if (place == last && last_alone) {
        receive(1, 0);
    } else {
        int const partner = rank_at(place % 2 == 1 ? place + 1 : place - 1);
        Request::sendrecv(halves[mine], counts[mine], type, partner, tag, halves[other], counts[other], type, partner,
                          tag, comm, MPI_STATUS_IGNORE);
    }
    return MPI_SUCCESS;
}

} // namespace

Bcast bcast__flattree;

// Named as Open MPI names them.
int bcast__chain(void *data, int count, Datatype *type, int root, Comm *comm) {
    return sent_whole(data, count, type, root, comm, in_chain);
}
int bcast__binary_tree(void *data, int count, Datatype *type, int root, Comm *comm) {
    return sent_whole(data, count, type, root, comm, in_tree);
}

int bcast__split_binary_tree(void *data, int count, Datatype *type, int root, Comm *comm) {
    return sent_split(data, count, type, root, comm);
}

int bcast__NTSL(void *data, int count, Datatype *type, int root, Comm *comm) {
    static auto *const own =
        weft::simulate::of_simgrid<Bcast>("_ZN7simgrid4smpi11bcast__NTSLEPviPNS0_8DatatypeEiPNS0_4CommE");
    auto *const taken = weft::simulate::chosen_by_open_mpi("smpi/bcast") ? bcast__flattree : own;
    return taken(data, count, type, root, comm);
}

int bcast__NTSB(void *data, int count, Datatype *type, int root, Comm *comm) {
    static auto *const own =
        weft::simulate::of_simgrid<Bcast>("_ZN7simgrid4smpi11bcast__NTSBEPviPNS0_8DatatypeEiPNS0_4CommE");
    auto *const taken = weft::simulate::chosen_by_open_mpi("smpi/bcast") ? bcast__binary_tree : own;
    return taken(data, count, type, root, comm);
}

int bcast__ompi_split_bintree(void *data, int count, Datatype *type, int root, Comm *comm) {
    static auto *const own =
        weft::simulate::of_simgrid<Bcast>("_ZN7simgrid4smpi25bcast__ompi_split_bintreeEPviPNS0_8DatatypeEiPNS0_4CommE");
    auto *const taken = !weft::simulate::chosen_by_open_mpi("smpi/bcast") ? own
                        : count < 2                                       ? bcast__chain
                                                                          : bcast__split_binary_tree;
    return taken(data, count, type, root, comm);
}

// SMPI's own divides by the elements of a segment, which are 0 if there is nothing to send.
int bcast__ompi_pipeline(void *data, int count, Datatype *type, int root, Comm *comm) {
    static auto *const own =
        weft::simulate::of_simgrid<Bcast>("_ZN7simgrid4smpi20bcast__ompi_pipelineEPviPNS0_8DatatypeEiPNS0_4CommE");
    auto *const taken = weft::simulate::chosen_by_open_mpi("smpi/bcast") ? bcast__chain : own;
    return count == 0 ? MPI_SUCCESS : taken(data, count, type, root, comm);
}

} // namespace simgrid::smpi
