// SPDX-License-Identifier: BSD-3-Clause
// The kernel `interference`: a call of some ranks of the launch, alone and beside traffic of others, in turns.
//
//   members        the ranks that measure
//   beside         the ranks that make traffic meanwhile
//   victim         the measured call (victim.hpp)
//   bytes          of its message or block
//   window         messages of a `stream` in flight
//   traffic        kinds of traffic with their strengths: "alltoall incast.25" (traffic.hpp)
//   traffic_bytes  of each of its messages
//   burst          its messages to each peer before a pause; at full strength twice as many are always under way
//   chunk          samples of one turn: alone, then beside each kind of traffic
//   mates          ranks beside for each rank that measures, if both jobs are on one node
//   counted        1: before the samples the call runs by itself for a while, for a reader of the links' counters;
//                  more: then each kind of traffic too
//
// The operations are `VICTIM@BYTES`, and beside traffic `VICTIM+incast.25@BYTES`.
#include "cell/kernels.hpp"
#include "cell/size_sweep.hpp"
#include "common/check.hpp"
#include "interference/traffic.hpp"
#include "interference/victim.hpp"
#include "mpi/agree.hpp"
#include "mpi/message.hpp"

#include <algorithm>
#include <memory>
#include <set>

namespace weft {

namespace {

int rank_in(Cell const &cell, std::string_view key, std::size_t place) {
    return int(to_integer(cell.words(key).at(place), key));
}

/// Orders to the ranks beside, which rank 0 of the cell gives.
class Commander {
  public:
    explicit Commander(Cell const &cell) : cell_(cell), count_(cell.words("beside").size()) {}

    void begin(int number) const {
        if (cell_.team().rank == 0) {
            send(&number, 1, order::tag);
            wait_for_answer();
        }
    }
    void stop() const { // not before the last of those who measure has ended its call
        check(PMPI_Barrier(cell_.team().comm), "MPI_Barrier before a stop");
        if (cell_.team().rank == 0) {
            send(nullptr, 0, order::stop_tag);
            wait_for_answer();
        }
    }

  private:
    void send(int const *number, int count, int tag) const {
        for (std::size_t k = 0; k < count_; ++k) {
            check(PMPI_Send(number, count, MPI_INT, rank_in(cell_, "beside", k), tag, cell_.launch()),
                  "MPI_Send of an order");
        }
    }
    void wait_for_answer() const {
        check(PMPI_Recv(nullptr, 0, MPI_INT, rank_in(cell_, "beside", 0), order::answer_tag, cell_.launch(),
                        MPI_STATUS_IGNORE),
              "MPI_Recv of an answer");
    }

    Cell const &cell_;
    std::size_t count_;
};

/// Each job by itself, after a pause in which a reader of counters sees its name in the status. All have ended one
/// before any rank names the next.
template <class Call> void show_jobs(Cell &cell, Commander const &commander, Call const &call) {
    constexpr std::int64_t pause_ns = 700'000'000, run_ns = 500'000'000; // a look takes long on busy cores
    Status &status = cell.sampler().status();
    auto const show = [&](std::string_view job, auto const &work) {
        status.set(job, "counted", "soon");
        platform::sleep_ns(pause_ns);
        status.set(job, "counted", "job");
        work();
        check(PMPI_Barrier(cell.team().comm), "MPI_Barrier after a job");
    };
    show(op_at(cell.text("victim"), cell.integer("bytes")), [&] {
        std::int64_t const began = platform::now_ns();
        call();
        std::int64_t const once_ns = std::max<std::int64_t>(max_over(cell.team(), platform::now_ns() - began), 1);
        for (std::int64_t k = 0; k < run_ns / once_ns; ++k) {
            call();
        }
    });
    std::vector<std::string> const traffic = cell.words("traffic");
    for (std::size_t k = 0; k < traffic.size() && cell.integer("counted") > 1; ++k) {
        show(traffic[k], [&] {
            commander.begin(int(k));
            platform::sleep_ns(run_ns);
            commander.stop();
        });
    }
    status.set("-", "-", "counted");
    platform::sleep_ns(pause_ns);
}

void require_two_jobs(Cell const &cell) {
    std::set<std::string> both;
    for (auto const *key : {"members", "beside"}) {
        std::vector<std::string> const ranks = cell.words(key);
        both.insert(ranks.begin(), ranks.end());
    }
    std::size_t const named = cell.words("members").size() + cell.words("beside").size();
    if (both.size() < named || cell.team().size < 2) {
        throw Failure("cell " + cell.name() + ": a rank in both jobs, or a single one",
                      "the plan is of another version of weft: start the study again", true);
    }
}

} // namespace

Need interference_need(Cell const &cell) {
    require_two_jobs(cell);
    if (std::string const why = message_refusal(std::max(cell.integer("bytes"), cell.integer("traffic_bytes")));
        !why.empty()) {
        throw Refusal("fabric", why);
    }
    Need need;
    Victim::add_need(need, cell);
    if (std::int64_t const mates = cell.integer("mates", 0); mates > 0) {
        need.parts.push_back({"traffic of mates", mates * interference_need_beside(cell).total()});
    }
    need.parts.push_back({"samples", Recorder::bytes(std::int64_t(cell.words("traffic").size()) + 1, cell.rules())});
    need.parts.push_back({"library staging", library_staging_bytes(cell.team().size)});
    return need;
}

Need interference_need_beside(Cell const &cell) {
    int const ranks = int(cell.words("beside").size());
    return {{{"traffic", Traffic::need(cell, ranks)}, {"library staging", library_staging_bytes(ranks)}}};
}

void run_interference(Cell &cell) {
    Victim victim(cell);
    Commander const commander(cell);
    std::int64_t const bytes = cell.integer("bytes");
    std::string const &name = cell.text("victim");
    bool const trips = name == "pingpong";
    How const how{.operations = trips ? 2 : max_over(cell.team(), victim.operations()),
                  .batch = false, // of a batch only the mean would be known, and none of the tail
                  .of_one_rank = trips,
                  .chunk = cell.integer("chunk")};
    auto const call = [&] { victim.call(); };
    cell.sampler().cold(op_at(name, bytes), call, how);
    std::vector<std::string> const traffic = cell.words("traffic");
    if (cell.integer("counted", 0) != 0) {
        show_jobs(cell, commander, call);
    }
    std::vector<Turn> turns{{op_at(name, bytes), call, 0, call, {}}};
    for (std::size_t k = 0; k < traffic.size(); ++k) {
        auto const enter = [&, k] {
            commander.begin(int(k));
            victim.call(); // the first one meets an empty network, and is not recorded
        };
        turns.push_back({op_at(name + "+" + traffic[k], bytes), call, 0, enter, [&] { commander.stop(); }});
    }
    cell.sampler().warm_in_turns(turns, how);
    std::optional<Flaws> const flaws = victim.prove(planted(cell, "corrupt"));
    bool const real = min_over(cell.team(), flaws ? 1 : 0) == 1;
    if (!real) {
        return cell.skip_validation("the simulator folds buffers of this size: they have no contents to prove");
    }
    cell.set_validation(std::int64_t(flaws->count), flaws->first);
}

std::function<bool()> interfere(Cell &cell) {
    auto traffic = std::make_shared<Traffic>(cell);
    return [traffic] { return traffic->serve(); };
}

} // namespace weft
