// SPDX-License-Identifier: BSD-3-Clause
#include "interference/victim.hpp"

#include "common/check.hpp"
#include "mpi/message.hpp"

#include <utility>

namespace weft {

namespace {

WindowLimits limits_of(Cell const &cell) {
    std::int64_t const bytes = std::max<std::int64_t>(cell.integer("bytes"), 1);
    std::int64_t const messages = cell.text("victim") == "stream" ? cell.integer("window") : 1;
    return {messages, messages * bytes, messages * WindowLimits::stride(bytes)};
}

bool by_pairs(Cell const &cell) {
    return cell.text("victim") == "stream" || cell.text("victim") == "pingpong";
}

CollectiveForm form_of(Cell const &cell, BlockPattern const &equal) {
    CollectiveForm form;
    std::string const &name = cell.text("victim");
    form.collective = &collective_named(name == "exchange" ? "alltoall" : name);
    if (name == "exchange") {
        form.algorithm = AllToAll("flat.window{w=1000000}");
    }
    form.pattern = &equal;
    form.root = 0;
    return form;
}

} // namespace

Victim::Victim(Cell const &cell) : team_(cell.team()), bytes_(cell.integer("bytes")), equal_("equal", team_.size, {}) {
    std::string const &name = cell.text("victim");
    if (name == "stream") {
        Flows flows = Flows::of(team_.rank, team_.size, Flows::Shape::pairs, false);
        window_.emplace(team_, limits_of(cell), std::move(flows));
        window_->set_size(bytes_);
    } else if (name == "pingpong") {
        int const half = team_.size / 2;
        partner_ = team_.rank < half ? team_.rank + half : team_.rank < 2 * half ? team_.rank - half : -1;
        message_ = Buffer::make(team_, std::size_t(limits_of(cell).footprint), "message");
    } else {
        data_.emplace(team_, form_of(cell, equal_), bytes_);
        data_->settle();
        data_->set_block(bytes_);
        data_->begin_roots(1);
    }
}

void Victim::add_need(Need &need, Cell const &cell) {
    if (by_pairs(cell)) {
        need.parts.push_back({"messages under way", limits_of(cell).footprint});
        return;
    }
    BlockPattern const equal("equal", cell.team().size, {});
    CollectiveData::add_need(need, cell.team(), form_of(cell, equal), cell.integer("bytes"));
}

std::int64_t Victim::operations() const {
    return window_ ? window_->messages() : 1;
}

void Victim::call() {
    if (data_) {
        data_->call();
    } else if (window_) {
        window_->move_window();
    } else if (partner_ >= 0) {
        trip();
    }
}

/// A message from the first of two partners to the second and back.
void Victim::trip() {
    constexpr int tag = 0;
    auto const send = [&] { check(send_bytes(message_.data(), bytes_, partner_, tag, team_.comm), "MPI_Send"); };
    bool const begins = team_.rank < partner_;
    if (begins) {
        send();
    }
    check(receive_bytes(message_.data(), bytes_, partner_, tag, team_.comm, MPI_STATUS_IGNORE), "MPI_Recv");
    if (!begins) {
        send();
    }
}

std::optional<Flaws> Victim::prove(bool corrupt) {
    auto const plant = [&](std::span<std::byte> received) {
        if (corrupt && !received.empty()) {
            received[received.size() - 1] ^= std::byte{1};
        }
    };
    if (data_) {
        return data_->real() ? std::optional(data_->prove(0, plant)) : std::nullopt;
    }
    if (!window_) {
        return Flaws{}; // what a round trip carries means nothing
    }
    if (!window_->real()) {
        return std::nullopt;
    }
    window_->fill();
    window_->move_window();
#ifdef WEFT_FAULTS
    if (corrupt) {
        window_->corrupt(0, 0);
    }
#endif
    return window_->check_received();
}

} // namespace weft
