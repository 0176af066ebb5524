// SPDX-License-Identifier: BSD-3-Clause
// The bytes between two ranks go over one connection, in the order in which they were sent. SimGrid lets messages of
// one pair share its links: all of them then arrive when the last one does, and a receiver of pieces waits for all.
#include "in_order.hpp"

#include <simgrid/kernel/resource/Model.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <unordered_map>

namespace simgrid::kernel::activity {

// Of its hidden header: what the library exports.
class CommImpl {
  public:
    static xbt::signal<void(CommImpl const &)> on_start;
    static xbt::signal<void(CommImpl const &)> on_completion;
};

} // namespace simgrid::kernel::activity

namespace weft::simulate {
namespace {

using Comm = simgrid::kernel::activity::CommImpl;
using Activity = simgrid::kernel::activity::ActivityImpl; // the base of a message's
using simgrid::kernel::resource::Action;
using simgrid::kernel::resource::ActionHeap;

constexpr double rounding_s = 2e-9; // SimGrid's own precision of times, twice

class Wires {
  public:
    explicit Wires(Zone const &zone) : zone_(zone) {}

    // Called when a message starts, right after SimGrid asked for its route.
    void start(Comm const &message) {
        auto const &route = zone_.asked_last();
        auto const pair = static_cast<std::int64_t>(route.from) * zone_.slot_count() + route.to;
        pair_of_.emplace(&message, pair);
        intrusive_ptr_add_ref(activity(message)); // one that was found to be there already is freed without an end
        auto &wire = wires_[pair];
        if (wire.busy) {
            auto *action = newest(message);
            action->suspend(); // its bytes stay here, and its latency is paid meanwhile
            wire.waiting.push_back({action, simgrid::s4u::Engine::get_clock() + route.latency_s});
        }
        wire.busy = true;
    }

    void end(Comm const &message) {
        auto const known = pair_of_.find(&message);
        if (known == pair_of_.end())
            return;
        auto const found = wires_.find(known->second);
        pair_of_.erase(known);
        intrusive_ptr_release(activity(message));
        auto &waiting = found->second.waiting;
        if (waiting.empty()) {
            wires_.erase(found);
            return;
        }
        release(waiting.front());
        waiting.pop_front();
    }

  private:
    struct Waiting {
        Action *action;
        double ready_s; // when the first byte could arrive
    };

    struct Wire {
        bool busy = false;
        std::deque<Waiting> waiting;
    };

    static void release(Waiting const &next) {
        auto *model = next.action->get_model();
        auto const now_s = simgrid::s4u::Engine::get_clock();
        if (now_s + rounding_s >= next.ready_s) {
            next.action->resume();
            return;
        }
        // resume() would skip what is left of the latency
        next.action->set_suspend_state(Action::SuspendStates::RUNNING);
        if (model->is_update_lazy())
            model->get_action_heap().insert(next.action, next.ready_s, ActionHeap::Type::latency);
    }

    static Activity *activity(Comm const &message) {
        return reinterpret_cast<Activity *>(const_cast<Comm *>(&message));
    }

    // SimGrid's action of a message: the last that its model was given.
    static Action *newest(Comm const &message) {
        for (auto *model : simgrid::s4u::Engine::get_instance()->get_all_models()) {
            auto *started = model->get_started_action_set();
            if (!started->empty() && started->back().get_activity() == activity(message))
                return &started->back();
        }
        xbt_die("SimGrid does not know a message that it starts");
    }

    Zone const &zone_;
    std::unordered_map<Comm const *, std::int64_t> pair_of_;
    std::unordered_map<std::int64_t, Wire> wires_; // those with messages under way
};

} // namespace

void keep_messages_in_order(Zone const &zone) {
    auto const wires = std::make_shared<Wires>(zone);
    Comm::on_start.connect([wires](Comm const &message) { wires->start(message); });
    Comm::on_completion.connect([wires](Comm const &message) { wires->end(message); });
}

} // namespace weft::simulate
