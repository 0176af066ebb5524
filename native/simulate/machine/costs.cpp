// SPDX-License-Identifier: BSD-3-Clause
#include "costs.hpp"

#include "algorithm.hpp"
#include "copies.hpp"

#include <smpi/smpi.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace weft::simulate {
namespace {

// Which rank slots are connected. A connection serves both directions, and each end spends its half of the handshake on
// it. If only one end sends, it waits for both halves, one after the other: the peer must be inside the library to take
// part. If both ends send at once, each does its own half meanwhile.
class Contacts {
  public:
    Contacts(std::int32_t slots, double half_s)
        : slots_(static_cast<std::size_t>(slots)), half_s_(half_s), open_(slots_ * slots_, false) {}

    // Called by the rank that sends, which sleeps until the connection is open.
    void connect(std::int32_t from, std::int32_t to) {
        auto const [low, high] = std::minmax(from, to);
        auto const pair = static_cast<std::size_t>(low) * slots_ + static_cast<std::size_t>(high);
        if (open_[pair])
            return;
        auto const now_s = simgrid::s4u::Engine::get_clock();
        auto const [opening, alone] = opening_s_.try_emplace(pair, now_s + 2 * half_s_);
        if (alone)
            simgrid::s4u::this_actor::sleep_for(half_s_); // the other end may begin its half meanwhile
        else
            opening->second = std::min(opening->second, now_s + half_s_);
        if (!open_[pair])
            simgrid::s4u::this_actor::sleep_until(opening_s_.at(pair));
        open_[pair] = true;
        opening_s_.erase(pair);
    }

  private:
    std::size_t slots_;
    double half_s_;
    std::vector<bool> open_;
    std::unordered_map<std::size_t, double> opening_s_; // when a connection that is being set up will be open
};

int &free_now() {
    static int ranks = 0;
    return ranks;
}

class Costs {
  public:
    explicit Costs(Zone const &zone)
        : zone_(zone), adapter_free_s_(zone.net().hosts.size() * static_cast<std::size_t>(zone.net().rails), 0) {
        auto const &on_demand = zone.net().connections;
        if (on_demand.cost_s > 0 && zone.slot_count() > on_demand.most_eager)
            contacts_ = std::make_unique<Contacts>(zone.slot_count(), on_demand.cost_s);
    }

    double operator()(std::size_t bytes, simgrid::s4u::Host const *source, simgrid::s4u::Host const *destination) {
        auto const &message = zone_.net().message;
        if (free_now() > 0)
            return 0;
        if (zone_.node_of(source) == zone_.node_of(destination))
            return message.inside_s;
        auto const size = static_cast<double>(bytes);
        auto const segment = message.of(size);
        auto const seconds = segment.overhead_s + segment.s_per_byte * size;
        if (contacts_)
            contacts_->connect(zone_.slot_of(source), zone_.slot_of(destination));
        return segment.gap_s > 0 ? seconds + wait_for_adapter(zone_.rail_of(source), segment.gap_s, size) : seconds;
    }

  private:
    double wait_for_adapter(std::int32_t rail, double gap_s, double bytes) {
        auto &free_s = adapter_free_s_[static_cast<std::size_t>(rail)];
        auto const now_s = simgrid::s4u::Engine::get_clock();
        auto const start_s = std::max(now_s, free_s);
        free_s = start_s + gap_s;
        if (zone_.net().gap_after_bytes)
            free_s += bytes / zone_.injection_bytes_per_s(rail);
        return start_s - now_s;
    }

    Zone const &zone_;
    std::vector<double> adapter_free_s_; // by rail of all nodes
    std::unique_ptr<Contacts> contacts_;
};

} // namespace

Free::Free() {
    ++free_now();
}

Free::~Free() {
    --free_now();
}

namespace {

// Writes the number of messages of the whole simulation to a file, for those who ask what one costs.
void count_messages(std::shared_ptr<std::int64_t const> const &messages, std::string const &file) {
    simgrid::s4u::Engine::on_simulation_end_cb([messages, file] { std::ofstream(file) << *messages << '\n'; });
}

} // namespace

void charge_messages(Zone const &zone) {
    if (zone.net().library_copies)
        charge_library_copies();
    alltoall_steps() = zone.net().alltoall_steps;
    auto const costs = std::make_shared<Costs>(zone);
    auto const messages = std::make_shared<std::int64_t>(0);
    if (auto const *const file = std::getenv("WEFT_COUNT_MESSAGES"))
        count_messages(messages, file);
    auto const charge = [costs, messages](std::size_t bytes, simgrid::s4u::Host *source,
                                          simgrid::s4u::Host *destination) {
        note_algorithm();
        ++*messages;
        weft_settle_copies(); // what is sent has been packed
        return (*costs)(bytes, source, destination);
    };
    smpi_register_op_cost_callback(SmpiOperation::SEND, charge);
    smpi_register_op_cost_callback(SmpiOperation::ISEND, charge);
    // Without a callback a receive has SMPI's default cost, a calibration of Gigabit Ethernet.
    smpi_register_op_cost_callback(SmpiOperation::RECV,
                                   [](std::size_t, simgrid::s4u::Host *, simgrid::s4u::Host *) { return 0.0; });
}

} // namespace weft::simulate
