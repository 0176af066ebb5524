// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/sample_sort.hpp"

#include "mpi/error.hpp"

#include <algorithm>
#include <cstring>

namespace weft {

namespace {

std::uint64_t bytes_of(std::uint64_t vectors, std::uint64_t m) {
    return vectors * m * sizeof(double);
}

} // namespace

SampleSort::SampleSort(Team const &team, std::uint64_t n, std::uint64_t m, AllToAll algorithm)
    : team_(team), sampling_{Share{n, team.size}}, m_(m),
      unsorted_(Buffer::make(team, bytes_of(sampling_.receive_bound(), m), "unsorted")),
      sorted_(Buffer::make(team, bytes_of(sampling_.receive_bound(), m), "sorted")),
      index_(Buffer::make(team, index_entries(share().count(team.rank), m) * sizeof(KeyPlace), "index")),
      table_(team.size, BlockTable::needs_wide(sampling_.receive_bound()), std::move(algorithm)), tree_(team.size),
      vector_type_(vector_type(m)), sample_type_(Datatype::contiguous(sizeof(KeyPlace), MPI_BYTE)),
      send_begins_(sampling_.share.p() + 1), received_begins_(sampling_.share.p() + 1),
      my_samples_(sampling_.count(team.rank)), splitters_(sampling_.share.p() - 1) {
    if (team.rank != 0) {
        return;
    }
    all_samples_.resize(sampling_.total());
    int place = 0;
    for (int rank = 0; rank < team.size; ++rank) {
        sample_counts_.push_back(static_cast<int>(sampling_.count(rank)));
        sample_places_.push_back(place);
        place += sample_counts_.back();
    }
}

void SampleSort::add_need(Need &need, std::uint64_t n, std::uint64_t m, int rank, int ranks) {
    Sampling const sampling{Share{n, ranks}};
    auto const p = sampling.share.p();
    auto const array = bytes_of(sampling.receive_bound(), m);
    auto const samples = sampling.count(rank) + p - 1 + (rank == 0 ? sampling.total() : 0);
    auto const add = [&](char const *name, std::uint64_t bytes) {
        need.parts.push_back({name, static_cast<std::int64_t>(bytes)});
    };
    add("unsorted", array);
    add("sorted", array);
    add("index", index_entries(sampling.share.count(rank), m) * sizeof(KeyPlace));
    add("counts and displacements", BlockTable::bytes(ranks, BlockTable::needs_wide(sampling.receive_bound())) +
                                        2 * (p + 1) * sizeof(std::uint64_t) + (rank == 0 ? 2 * p * sizeof(int) : 0));
    add("splitters", samples * sizeof(KeyPlace));
    add("merge tree", LoserTree::bytes(ranks));
}

void SampleSort::fill(KeySource &source) {
    write_vectors(source, share().first(team_.rank), unsorted());
}

void SampleSort::sort_locally() {
    Vectors const to{sorted_.as<double>().data(), unsorted().count, m_};
    sort_vectors(unsorted(), to, index_.as<KeyPlace>());
    select_splitters(to);
    find_blocks(splitters_, to, share().first(team_.rank), send_begins_);
    table_.set_send(send_begins_);
}

void SampleSort::select_splitters(ConstVectors sorted_share) {
    take_samples(sampling_, team_.rank, sorted_share, my_samples_);
    check(PMPI_Gatherv(my_samples_.data(), static_cast<int>(my_samples_.size()), sample_type_, all_samples_.data(),
                       sample_counts_.data(), sample_places_.data(), sample_type_, 0, team_.comm),
          "MPI_Gatherv of samples");
    if (team_.rank == 0) {
        choose_splitters(all_samples_, splitters_);
    }
    check(PMPI_Bcast(splitters_.data(), static_cast<int>(splitters_.size()), sample_type_, 0, team_.comm),
          "MPI_Bcast of splitters");
}

void SampleSort::exchange_counts() {
    table_.exchange_counts(team_.comm);
}

void SampleSort::exchange_vectors() {
    table_.place_received(received_begins_);
    // A wrong call A must not make call C write beyond the array.
    if (received_begins_.back() > sampling_.receive_bound()) {
        throw Failure(
            "rank " + std::to_string(team_.rank) + " was told to receive " + std::to_string(received_begins_.back()) +
                " vectors, more than the bound of " + std::to_string(sampling_.receive_bound()),
            "MPI_Alltoall delivered wrong counts: check the MPI library, or the interposer that replaces the call");
    }
    table_.exchange_blocks(sorted_.data(), unsorted_.data(), vector_type_, team_.comm);
}

void SampleSort::merge() {
    auto const total = received_begins_.back();
    Vectors const received{unsorted_.as<double>().data(), total, m_};
    tree_.merge(received, received_begins_, sorted());
}

void SampleSort::spoil_received() {
    table_.forget_received();
    std::memset(unsorted_.data(), 0xff, unsorted_.bytes()); // NaNs
}

} // namespace weft
