// SPDX-License-Identifier: BSD-3-Clause
#include "collective/collective_data.hpp"

#include "record/hash.hpp"

#include <algorithm>
#include <bit>
#include <climits>
#include <cstring>
#include <numeric>

namespace weft {

namespace {

constexpr std::int64_t word_bytes = 8;

std::int64_t block_count(Blocks blocks, int ranks) {
    return blocks == Blocks::all ? ranks : blocks == Blocks::one ? 1 : 0;
}

/// Payload bytes of a rank's array of blocks. With a fixed root other ranks need less, but the rank with the largest
/// need decides, so all ranks count the same.
std::int64_t payload(CollectiveForm const &form, int ranks, std::int64_t bytes, bool received) {
    Collective const &what = *form.collective;
    Blocks blocks = received ? what.received : what.sent;
    if (received && form.in_place && !what.rooted) {
        blocks = std::max(what.sent, what.received); // the single array also holds what is sent
    }
    return block_count(blocks, ranks) * bytes;
}

std::int64_t memory_of(CollectiveForm const &form, int ranks, std::int64_t bytes, bool received) {
    return payload(form, ranks, bytes, received) * (form.spread ? 2 : 1);
}

/// The sum of `summand` over all ranks is a whole number far below 2^53, so it is exact in any order of additions.
double summand(int rank, std::int64_t element) {
    return double(rank + 1) * double(1 + element % 251);
}

double sum_over_ranks(int ranks, std::int64_t element) {
    return 0.5 * double(ranks) * double(ranks + 1) * double(1 + element % 251);
}

template <class Count, class Place> void lay_out(std::vector<Count> const &counts, std::vector<Place> &places) {
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), Place{0});
}

template <class Arrays> void make_room(Arrays &arrays, std::size_t ranks, bool by_counts) {
    arrays.receive_counts.resize(ranks);
    if (by_counts) {
        arrays.send_counts.resize(ranks);
        arrays.send_places.resize(ranks);
        arrays.receive_places.resize(ranks);
    }
}

} // namespace

CollectiveData::CollectiveData(Team const &team, CollectiveForm const &form, std::int64_t most_bytes)
    : team_(team), form_(form), rotating_(form.collective->rooted && !form.root) {
    send_ = Buffer::make(team, std::size_t(memory_of(form, team.size, most_bytes, false)), "send");
    receive_ = Buffer::make(team, std::size_t(memory_of(form, team.size, most_bytes, true)), "receive");
    arguments_.send = send_.data();
    arguments_.receive = receive_.data();
    arguments_.in_place = form.in_place;
    arguments_.algorithm = form.algorithm;
    arguments_.comm = form.graph != MPI_COMM_NULL ? form.graph : team.comm;
    arguments_.rank = team.rank;
    arguments_.root = form.root.value_or(0);
    if (form.spread) {
        spread_type_ = Datatype::resized(MPI_DOUBLE, 2 * word_bytes);
        arguments_.type = spread_type_;
    } else if (form.collective->reduces) {
        arguments_.type = MPI_DOUBLE;
    }
    auto const ranks = static_cast<std::size_t>(team.size);
    make_room<CountArrays<int, int>>(arguments_, ranks, form.collective->by_counts || form.mocked);
    if (form.mocked) {
        scratch_ = Buffer::make(team, std::size_t(scratch_bytes(team, most_bytes)), "scratch");
        room_ = {ranks, arguments_.type, scratch_.data()};
        arguments_.room = &room_;
    }
    if (form.wide || needs_wide(team, form, most_bytes)) {
        make_room(arguments_.wide, ranks, form.collective->by_counts);
    }
}

void CollectiveData::add_need(Need &need, Team const &team, CollectiveForm const &form, std::int64_t most_bytes) {
    need.parts.push_back({"send", memory_of(form, team.size, most_bytes, false)});
    need.parts.push_back({"receive", memory_of(form, team.size, most_bytes, true)});
    std::int64_t const wide = needs_wide(team, form, most_bytes) ? 2 * (sizeof(MPI_Count) + sizeof(MPI_Aint)) : 0;
    need.parts.push_back({"counts", (std::int64_t(4 * sizeof(int)) + wide) * team.size});
}

bool CollectiveData::needs_wide(Team const &team, CollectiveForm const &form, std::int64_t bytes) {
    std::int64_t const block = bytes / form.unit();
    return block > INT_MAX || (form.collective->by_counts && block > INT_MAX / team.size);
}

std::string CollectiveData::refusal(Team const &team, CollectiveForm const &form, std::int64_t bytes, int mpi_version) {
    if (mpi_version >= 4 || !needs_wide(team, form, bytes)) {
        return {};
    }
    std::string const standard = ", and this MPI (standard " + std::to_string(mpi_version) + ") has no calls for more";
    if (bytes / form.unit() > INT_MAX) {
        return "a block of " + std::to_string(bytes) + " bytes has more elements than the " + std::to_string(INT_MAX) +
               " that an int counts" + standard + ": take smaller blocks, or an MPI of standard 4";
    }
    return std::to_string(team.size) + " blocks of " + std::to_string(bytes) + " bytes have displacements over the " +
           std::to_string(INT_MAX) + " of an int" + standard +
           ": take smaller blocks, fewer ranks, or an MPI of standard 4";
}

template <class Arrays> void CollectiveData::set_arrays(Arrays &arrays) const {
    using Count = typename decltype(arrays.receive_counts)::value_type;
    std::int64_t const unit = form_.unit();
    std::fill(arrays.receive_counts.begin(), arrays.receive_counts.end(), Count(bytes_ / unit));
    if (arrays.send_counts.empty()) {
        return;
    }
    for (int other = 0; other < team_.size; ++other) {
        auto const place = static_cast<std::size_t>(other);
        arrays.send_counts[place] = Count(form_.pattern->block(team_.rank, other, bytes_, unit) / unit);
        arrays.receive_counts[place] = Count(form_.pattern->block(other, team_.rank, bytes_, unit) / unit);
    }
    lay_out(arrays.send_counts, arrays.send_places);
    lay_out(arrays.receive_counts, arrays.receive_places);
}

void CollectiveData::set_block(std::int64_t bytes) {
    bytes_ = bytes;
    arguments_.algorithm.begin_size();
    wide_ = form_.wide || needs_wide(team_, form_, bytes);
    call_ = wide_ ? wide_call(*form_.collective) : form_.collective->call;
    if (wide_) {
        arguments_.wide_count = MPI_Count(bytes / form_.unit());
        set_arrays(arguments_.wide);
    } else {
        arguments_.count = int(bytes / form_.unit());
        set_arrays<CountArrays<int, int>>(arguments_);
    }
    room_.set_block(form_.root.value_or(0), arguments_.count);
}

void CollectiveData::settle() {
    if (!form_.collective->reduces || !real()) {
        return;
    }
    auto const numbers = send_.as<double>();
    std::fill(numbers.begin(), numbers.end(), 1.0);
    std::memset(receive_.data(), 0,
                receive_.bytes()); // in place, 0 + 0 stays 0; other sums would grow without limit
}

bool CollectiveData::takes_part_in_place() const {
    return form_.in_place && (!form_.collective->rooted || arguments_.is_root());
}

Buffer const &CollectiveData::source() const {
    bool const scatters = form_.collective->rooted && form_.collective->sent == Blocks::all;
    return takes_part_in_place() && !scatters ? receive_ : send_;
}

std::byte *CollectiveData::at(Buffer const &buffer, std::int64_t payload) const {
    return buffer.data() + payload * (form_.spread ? 2 : 1);
}

PeerBlocks CollectiveData::blocks() const {
    PeerBlocks blocks;
    blocks.type = arguments_.type;
    blocks.equal = !form_.collective->by_counts || form_.pattern->is_equal();
    blocks.keeps_own = !form_.in_place;
    for (bool const received : {false, true}) {
        for (Span const &span : blocks_of(received)) {
            (received ? blocks.receive : blocks.send)
                .push_back({at(received ? receive_ : send_, span.begin), MPI_Count(span.bytes / form_.unit())});
        }
    }
    return blocks;
}

/// Blocks of the whole array, one of each rank: sent to it, or received from it.
std::vector<CollectiveData::Span> CollectiveData::blocks_of(bool received) const {
    std::vector<Span> all;
    for (int other = 0; other < team_.size; ++other) {
        auto const k = static_cast<std::size_t>(other);
        std::int64_t begin = other * bytes_;
        std::int64_t bytes = bytes_;
        if (form_.collective->by_counts) {
            auto const block = [&](auto const &arrays) {
                begin = (received ? arrays.receive_places : arrays.send_places)[k] * form_.unit();
                bytes = (received ? arrays.receive_counts : arrays.send_counts)[k] * form_.unit();
            };
            wide_ ? block(arguments_.wide) : block(static_cast<CountArrays<int, int> const &>(arguments_));
        }
        all.push_back(received ? Span{other, team_.rank, begin, bytes} : Span{team_.rank, other, begin, bytes});
    }
    return all;
}

std::vector<CollectiveData::Span> CollectiveData::contributed() const {
    Collective const &what = *form_.collective;
    if (what.sent == Blocks::all) {
        return what.rooted && !arguments_.is_root() ? std::vector<Span>{} : blocks_of(false);
    }
    if (what.name == "bcast" && !arguments_.is_root()) {
        return {};
    }
    // All ranks get the same: `to` is 0. In place, a rank's block is at its own position in the whole array.
    bool const among_others = what.received == Blocks::all && takes_part_in_place();
    return {{team_.rank, 0, among_others ? team_.rank * bytes_ : 0, bytes_}};
}

std::vector<CollectiveData::Span> CollectiveData::expected() const {
    Collective const &what = *form_.collective;
    bool const root = arguments_.is_root();
    if (what.name == "bcast") {
        return root ? std::vector<Span>{} : std::vector<Span>{{arguments_.root, 0, 0, bytes_}};
    }
    if (what.received == Blocks::all) {
        if (what.rooted && !root) {
            return {};
        }
        std::vector<Span> all = blocks_of(true);
        for (Span &span : all) {
            span.to = what.sent == Blocks::all ? team_.rank : 0;
        }
        return all;
    }
    if (what.reduces) {
        return what.rooted && !root ? std::vector<Span>{} : std::vector<Span>{{0, team_.rank, 0, bytes_}};
    }
    return takes_part_in_place() ? std::vector<Span>{} : std::vector<Span>{{arguments_.root, team_.rank, 0, bytes_}};
}

/// Word number `word` of a rank's contribution. The words of a block depend on its sender and receiver, so that a
/// misdelivered block is detected.
std::uint64_t CollectiveData::content(Span const &span, std::int64_t word) const {
    if (form_.collective->reduces) {
        return std::bit_cast<std::uint64_t>(summand(span.from, span.begin / word_bytes + word));
    }
    return mix(mix(std::uint64_t(span.from) << 32 | std::uint64_t(span.to)) + std::uint64_t(word));
}

std::uint64_t CollectiveData::result(Span const &span, std::int64_t word) const {
    if (!form_.collective->reduces) {
        return content(span, word);
    }
    bool const scattered = form_.collective->sent == Blocks::all;
    std::int64_t const first = scattered ? team_.rank * bytes_ / word_bytes : 0;
    return std::bit_cast<std::uint64_t>(sum_over_ranks(team_.size, first + word));
}

void CollectiveData::check_span(Span const &span, Flaws &flaws) const {
    for (std::int64_t done = 0; done < span.bytes; done += word_bytes) {
        std::uint64_t const wanted = result(span, done / word_bytes);
        std::uint64_t found = 0;
        auto const length = std::size_t(std::min(word_bytes, span.bytes - done));
        std::memcpy(&found, at(receive_, span.begin + done), length);
        if (std::memcmp(&found, &wanted, length) != 0) {
            flaws.add([&] {
                return "rank " + std::to_string(team_.rank) + ": " + std::string(form_.collective->name) + " of " +
                       std::to_string(bytes_) + " bytes, root " + std::to_string(arguments_.root) + ": byte " +
                       std::to_string(done) + " and its neighbours of the block from rank " +
                       std::to_string(span.from) + " are not what was expected";
            });
        }
    }
}

Flaws CollectiveData::prove(int root, std::function<void(std::span<std::byte>)> const &disturb, MockUp const *mock_up) {
    int const next_root = arguments_.root;
    arguments_.root = root;
    std::memset(receive_.data(), 0xff, receive_.bytes()); // NaNs as doubles, and never an expected word
    for (Span const &span : contributed()) {
        for (std::int64_t done = 0; done < span.bytes; done += word_bytes) {
            std::uint64_t const word = content(span, done / word_bytes);
            std::memcpy(at(source(), span.begin + done), &word, std::size_t(std::min(word_bytes, span.bytes - done)));
        }
    }
    (mock_up == nullptr ? call_ : mock_up->call)(arguments_);
    std::vector<Span> const wanted = expected();
    if (!wanted.empty()) {
        Span const &last = wanted.back();
        disturb({receive_.data(), std::size_t(at(receive_, last.begin + last.bytes) - receive_.data())});
    } else {
        disturb({});
    }
    Flaws flaws;
    for (Span const &span : wanted) {
        check_span(span, flaws);
    }
    arguments_.root = next_root;
    return flaws;
}

} // namespace weft
