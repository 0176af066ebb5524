// SPDX-License-Identifier: BSD-3-Clause
#include "state.hpp"

#include "platform.hpp"
#include "spec.hpp"
#include "texts.hpp"
#include "transfer.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace weft::alltoall {

namespace {

constexpr int fake_bytes = 256;
constexpr std::int64_t most_round_bytes = std::int64_t(1) << 30;

/// Settings of rank 0, as all ranks use them.
struct Settings {
    Limits limits;
    char fake[fake_bytes] = "";
    char refusal[fake_bytes] = "";
};

Settings own_settings() {
    Settings made;
    auto const text = [](char const *name) {
        return std::string(std::getenv(name) != nullptr ? std::getenv(name) : "");
    };
    try {
        if (auto const bytes = text("WEFT_STAGING_BYTES"); !bytes.empty()) {
            made.limits.staging_bytes = std::clamp<std::int64_t>(parse_bytes(bytes), 4096, 1 << 30);
        }
        if (auto const requests = text("WEFT_REQUESTS_PER_NODE"); !requests.empty()) {
            made.limits.requests_per_node = std::min<std::int64_t>(parse_bytes(requests), 1 << 20);
        }
        auto const fake = text("WEFT_NODES_FAKE");
        if (!fake.empty()) {
            fake_labels(fake, 1);
        }
        if (fake.size() >= fake_bytes) {
            throw Error(MPI_ERR_ARG, "weft: WEFT_NODES_FAKE is " + shown(fake) + " -> write less than " +
                                         std::to_string(fake_bytes) + " characters");
        }
        std::strncpy(made.fake, fake.c_str(), fake_bytes - 1);
    } catch (Error const &error) {
        std::strncpy(made.refusal, error.what(), fake_bytes - 1);
    }
    return made;
}

std::int64_t rounded_up(std::int64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

bool on_all(MPI_Comm comm, bool mine) {
    int all = mine ? 1 : 0;
    check(PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce of an agreement");
    return all != 0;
}

} // namespace

State::State(MPI_Comm user) {
    check(PMPI_Comm_rank(user, &rank_), "MPI_Comm_rank");
    comm_ = Comm::split(user, 0, rank_);
    find_nodes();
}

void State::find_nodes() {
    Settings settings = rank_ == 0 ? own_settings() : Settings{};
    check(PMPI_Bcast(&settings, int(sizeof settings), MPI_BYTE, 0, comm()), "MPI_Bcast of settings");
    if (settings.refusal[0] != 0) {
        throw Error(MPI_ERR_ARG, settings.refusal);
    }
    limits_ = settings.limits;
    node_ = platform::sharing_memory(comm(), rank_);
    int label = rank_;
    check(PMPI_Bcast(&label, 1, MPI_INT, 0, node_.get()), "MPI_Bcast of a node's first rank");
    int ranks = 0;
    check(PMPI_Comm_size(comm(), &ranks), "MPI_Comm_size");
    if (settings.fake[0] != 0) { // fake nodes are parts of real nodes, so their ranks share memory
        int const fake = fake_labels(settings.fake, ranks)[std::size_t(rank_)];
        node_ = Comm::split(node_.get(), fake, rank_);
        label = rank_;
        check(PMPI_Bcast(&label, 1, MPI_INT, 0, node_.get()), "MPI_Bcast of a node's first rank");
    }
    std::vector<int> labels(static_cast<std::size_t>(ranks));
    check(PMPI_Allgather(&label, 1, MPI_INT, labels.data(), 1, MPI_INT, comm()), "MPI_Allgather of nodes");
    nodes_ = Nodes(labels);
}

MPI_Comm State::heads() {
    if (!has_heads_) {
        heads_ = Comm::split(comm(), local() == 0 ? 0 : MPI_UNDEFINED, rank_);
        has_heads_ = true;
    }
    return heads_.get();
}

std::int64_t State::table_bytes() const noexcept {
    return rounded_up(std::int64_t(nodes_.size_of(home())) * nodes_.ranks() * std::int64_t(sizeof(std::int64_t)));
}

std::int64_t State::header_bytes() const noexcept {
    return rounded_up(std::int64_t(sizeof(BarrierCells))) + 2 * table_bytes();
}

std::int64_t *State::sent_table() const noexcept {
    return reinterpret_cast<std::int64_t *>(segment_.base() + rounded_up(std::int64_t(sizeof(BarrierCells))));
}

std::int64_t *State::received_table() const noexcept {
    return reinterpret_cast<std::int64_t *>(reinterpret_cast<std::byte *>(sent_table()) + table_bytes());
}

void State::refuse() noexcept {
    left_ = true;
    keep_for_good();
    barrier_.refuse();
    char nothing = 0;
    for (int tag = tag_flat; tag <= tag_entry; ++tag) {
        for (int rank = 0; rank < nodes_.ranks(); ++rank) {
            MPI_Request request = MPI_REQUEST_NULL;
            if (rank != rank_ && PMPI_Isend(&nothing, 0, MPI_BYTE, rank, tag, comm(), &request) == MPI_SUCCESS) {
                PMPI_Request_free(&request);
            }
        }
    }
}

/// Returns when all ranks have come, by messages that a rank that refuses can end: it makes no collective call.
void State::meet() const {
    char out = 1, in = 0;
    int const ranks = nodes_.ranks();
    for (int reach = 1; reach < ranks; reach *= 2) {
        MPI_Status status;
        int const from = (rank_ - reach + ranks) % ranks;
        check(PMPI_Sendrecv(&out, 1, MPI_BYTE, (rank_ + reach) % ranks, tag_entry, &in, 1, MPI_BYTE, from, tag_entry,
                            comm(), &status),
              "MPI_Sendrecv of an agreement");
        check_length(platform::received_bytes(status), 1, from);
    }
}

bool State::provide_staging(std::int64_t bytes) {
    if (bytes <= staging_bytes_) {
        return true;
    }
    if (bytes >= refused_bytes_) {
        return false;
    }
    meet();
    bytes = rounded_up(bytes);
    Segment larger(node_.get(), header_bytes() + 2 * bytes);
    if (!on_all(comm(), larger.ready())) {
        refused_bytes_ = bytes;
        return false;
    }
    segment_ = std::move(larger); // new memory from the kernel: the barrier's cells are zero
    staging_bytes_ = bytes;
    barrier_ = NodeBarrier(reinterpret_cast<BarrierCells *>(segment_.base()), nodes_.size_of(home()), comm());
    barrier_.begin_call();
    return true;
}

RoundFile const &State::rounds(std::string const &file) {
    if (auto const found = rounds_.find(file); found != rounds_.end()) {
        return found->second;
    }
    meet(); // a rank that the library refuses does not come
    std::string const text = broadcast_file(file, "the file of rounds", most_round_bytes, comm());
    return rounds_.emplace(file, parse_rounds(text)).first->second;
}

} // namespace weft::alltoall
