// SPDX-License-Identifier: BSD-3-Clause
#include "collective/guidelines.hpp"

#include "cell/size_sweep.hpp"
#include "mpi/agree.hpp"

namespace weft {

namespace {

constexpr std::int64_t fewest_rounds = 3; // a warm-up, one more to see how long it takes, and a sample
constexpr std::int64_t most_tries = 3;    // of a call whose first one was too long

/// Duration of the first call on this rank.
std::int64_t first_call_ns(Recorder const &recorder, std::string const &op) {
    for (Segment const &segment : recorder.segments()) {
        if (segment.op == op && segment.phase == Phase::cold && segment.count > 0) {
            return segment.rows.front().duration_ns;
        }
    }
    return 0;
}

} // namespace

Guidelines::Guidelines(Cell const &cell, CollectiveForm const &form, std::int64_t most_bytes, CollectiveData &data)
    : data_(data), unit_(form.unit()) {
    Team const &team = cell.team();
    CollectiveForm plain = form;
    plain.mocked = false;
    auto const make = [&](Team const &of, std::int64_t bytes) {
        auto made = std::make_unique<CollectiveData>(of, plain, bytes);
        made->settle();
        return made;
    };
    for (std::string const &word : cell.words("guidelines")) {
        if (word == "larger") {
            larger_ = make(team, 2 * most_bytes);
        } else if (word == "split") {
            split_ = make(team, most_bytes);
        } else if (word == "fewer") {
            on_fewer_ = true;
            bool const takes_part = team.rank < team.size / 2;
            Comm const half = Comm::split(team.comm, takes_part ? 0 : MPI_UNDEFINED, team.rank);
            if (takes_part) {
                half_team_ = make_team(half);
                fewer_ = make(half_team_, most_bytes);
            }
        } else {
            mock_ups_.push_back(&mock_up_named(form.collective->name, word));
        }
    }
}

void Guidelines::add_need(Need &need, Cell const &cell, CollectiveForm const &form, std::int64_t most_bytes,
                          std::int64_t sizes) {
    Need once;
    CollectiveData::add_need(once, cell.team(), form, most_bytes);
    std::int64_t bytes = CollectiveData::scratch_bytes(cell.team(), most_bytes);
    for (auto const &part : once.parts) {
        bytes += 4 * part.bytes; // twice for twice the size, once for its parts and for half of the ranks
    }
    need.parts.push_back({"guidelines", bytes});
    need.parts.push_back(
        {"guideline samples", Recorder::bytes(std::int64_t(cell.words("guidelines").size()) * sizes, cell.rules())});
}

bool Guidelines::is_too_long(Cell const &cell, std::string const &op, std::int64_t bytes) {
    std::int64_t const within_ns = cell.integer("within_ns", 0);
    auto const turns = std::int64_t(cell.words("guidelines").size()) + 2; // `larger` is twice as long
    auto const fits = [&](std::int64_t call_ns) { return fewest_rounds * turns * call_ns <= within_ns; };
    Team const &team = cell.team();
    if (within_ns == 0 || bytes == sizes_of(cell).front() ||
        fits(max_over(team, first_call_ns(cell.sampler().recorder(), op_at(op, bytes))))) {
        return false;
    }
    // What made the first call of this launch long need not last: connections, pages, another job.
    data_.set_block(bytes);
    data_.begin_roots(most_tries);
    std::vector<std::int64_t> tries;
    for (std::int64_t spent_ns = 0; std::ssize(tries) < most_tries && spent_ns <= within_ns; spent_ns += tries.back()) {
        cell.sampler().start().wait();
        std::int64_t const begin = cell.sampler().clock().now();
        data_.call();
        tries.push_back(max_over(team, cell.sampler().clock().now() - begin));
    }
    return !fits(median(tries));
}

void Guidelines::measure(Sampler &sampler, std::string const &op, std::int64_t bytes, std::function<void()> const &call,
                         How how) {
    std::string const whole = op_at(op, bytes);
    std::vector<Turn> turns;
    auto const add = [&](std::string_view word, std::function<void()> made) {
        turns.push_back({whole + ":" + std::string(word), std::move(made)});
    };
    // What has another footprint comes first, so that the call and its mock-ups find the caches alike.
    if (larger_) {
        larger_->set_block(2 * bytes);
        add("larger", [this] { larger_->call(); });
    }
    if (on_fewer_) {
        if (fewer_) {
            fewer_->set_block(bytes);
        }
        add("fewer", [this] {
            if (fewer_) {
                fewer_->call();
            }
        });
    }
    if (split_ && bytes % (2 * unit_) == 0) {
        split_->set_block(bytes / 2);
        add("split", [this] {
            split_->call();
            split_->call();
        });
    }
    for (MockUp const *const each : mock_ups_) {
        add(each->name, [this, each] { data_.call_by(*each); });
    }
    turns.push_back({whole, call}); // the last one, which the stop rule judges
    sampler.warm_in_turns(turns, how);
}

} // namespace weft
