// SPDX-License-Identifier: BSD-3-Clause
// The parallel sort of paper 000, section 3.2, for any keys: local sort, counts, vectors, merge. Two arrays only:
//
//   unsorted -- local sort --> sorted -- splitters, all-to-all --> unsorted -- merge --> sorted
#pragma once

#include "exchange/block_table.hpp"
#include "exchange/key_source.hpp"
#include "exchange/merge.hpp"
#include "exchange/splitters.hpp"
#include "host/buffer.hpp"
#include "host/memory.hpp"

#include <cstdint>
#include <vector>

namespace weft {

class SampleSort {
  public:
    /// n vectors of m doubles over the ranks of a team. Collective; throws Refusal with status `memory`.
    SampleSort(Team const &team, std::uint64_t n, std::uint64_t m, AllToAll algorithm = {});

    /// Adds the memory that one rank of such a sort allocates.
    static void add_need(Need &need, std::uint64_t n, std::uint64_t m, int rank, int ranks);

    /// False in a simulator that folds the arrays: such a sort has no data to sort.
    [[nodiscard]] bool real() const { return unsorted_.real() && sorted_.real() && index_.real(); }

    /// Writes this rank's share of the keys' vectors into `unsorted`.
    void fill(KeySource &source);

    // The four steps, in this order. Each is collective, and allocates nothing.
    void sort_locally();     ///< (i) and the choice of splitters
    void exchange_counts();  ///< (ii) call A
    void exchange_vectors(); ///< (iii) call C
    void merge();            ///< (iv)

    /// Overwrites the receive array of the exchange, so that old data cannot be taken for new. Call between (i) and
    /// (iii).
    void spoil_received();

    [[nodiscard]] Vectors unsorted() const { return {unsorted_.as<double>().data(), share().count(team_.rank), m_}; }
    [[nodiscard]] Vectors sorted() const { return {sorted_.as<double>().data(), received_begins_.back(), m_}; }

  private:
    [[nodiscard]] Share const &share() const { return sampling_.share; }
    void select_splitters(ConstVectors sorted_share);

    Team const &team_;
    Sampling sampling_;
    std::uint64_t m_;
    Buffer unsorted_;
    Buffer sorted_;
    Buffer index_;
    BlockTable table_;
    LoserTree tree_;
    Datatype vector_type_;
    Datatype sample_type_;
    std::vector<std::uint64_t> send_begins_;
    std::vector<std::uint64_t> received_begins_;
    std::vector<KeyPlace> my_samples_;
    std::vector<KeyPlace> all_samples_; ///< rank 0 only
    std::vector<int> sample_counts_;    ///< of each rank, rank 0 only
    std::vector<int> sample_places_;    ///< rank 0 only
    std::vector<Splitter> splitters_;
};

} // namespace weft
