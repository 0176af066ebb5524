// SPDX-License-Identifier: BSD-3-Clause
#include "doubling.hpp"

#include <algorithm>

namespace weft::rounds {
namespace {

// Rank + s and rank - s, or rank xor s, one after the other.
class Partners : public Schedule {
  public:
    Partners(std::int32_t ranks, Call const &call)
        : p_(ranks), call_(call), exclusive_(Algorithm(call.algorithm) == Algorithm::exclusive_or) {}
    bool step(std::int32_t rank, std::int32_t s, Acts &acts) const override {
        if (s >= p_)
            return false;
        auto const to = exclusive_ ? rank ^ s : (rank + s) % p_, from = exclusive_ ? to : (rank - s + p_) % p_;
        both(acts, rank, to, from, call_.between(p_, rank, to));
        return true;
    }

  private:
    std::int32_t p_;
    Call call_;
    bool exclusive_;
};

// Before a first call: over a back channel.
class Together : public Schedule {
  public:
    bool step(std::int32_t, std::int32_t s, Acts &acts) const override {
        if (s == 0)
            acts.push_back({Does::meet});
        return s == 0;
    }
};

// Before a call: Weft's own barrier (native/measure/time/barrier.cpp). Before a sample rank 0 has said twice how many
// there are; before a first call that is not the launch's the ranks have told rank 0 their times.
class Barrier : public Schedule {
  public:
    Barrier(std::int32_t ranks, std::int32_t told, std::int32_t asked) : p_(ranks), told_(told), asked_(asked) {}
    bool step(std::int32_t rank, std::int32_t s, Acts &acts) const override {
        if (s < asked_) {
            ask(acts, rank, p_);
            return true;
        }
        if (s < asked_ + told_) {
            tell(acts, rank, p_);
            return true;
        }
        auto const reach = std::int64_t(1) << (s - told_ - asked_);
        if (reach >= p_)
            return false;
        acts.push_back({Does::receive, std::int32_t((rank - reach + p_) % p_)});
        acts.push_back({Does::send, std::int32_t((rank + reach) % p_), 1});
        acts.push_back({Does::all});
        return true;
    }

  private:
    std::int32_t p_, told_, asked_;
};

class Bruck : public Schedule {
  public:
    Bruck(std::int32_t ranks, double bytes) : p_(ranks), bytes_(bytes) {}
    bool step(std::int32_t rank, std::int32_t s, Acts &acts) const override {
        if (s == 0) {
            for (auto const blocks : {p_ - rank, rank})
                acts.push_back({Does::charge, -1, blocks * bytes_});
            return true;
        }
        auto const reach = std::int64_t(1) << (s - 1);
        if (reach < p_) {
            std::int64_t blocks = 0;
            for (std::int64_t from = reach; from < p_; from += 2 * reach)
                blocks += std::min<std::int64_t>(reach, p_ - from);
            acts.push_back({Does::charge, -1, double(blocks) * bytes_}); // packed
            both(acts, rank, std::int32_t((rank + reach) % p_), std::int32_t((rank - reach + p_) % p_),
                 double(blocks) * bytes_);
            return true;
        }
        if (reach / 2 >= p_)
            return false;
        for (auto const blocks : {p_ - rank - 1, rank + 1})
            acts.push_back({Does::charge, -1, blocks * bytes_});
        acts.push_back({Does::charge, -1, p_ * in_lines(bytes_)});
        return true;
    }

  private:
    std::int32_t p_;
    double bytes_;
};

// All at once: receives from, then sends to all others; as MPI_Alltoall upwards from the neighbour and downwards, as
// MPI_Alltoallv (`by_rank`) in the order of the ranks.
class Linear : public Schedule {
  public:
    Linear(std::int32_t ranks, Call const &call)
        : p_(ranks), call_(call), by_rank_(Algorithm(call.algorithm) == Algorithm::linear_v) {}
    bool step(std::int32_t rank, std::int32_t s, Acts &acts) const override {
        auto const others = p_ - 1;
        if (s == 0) {
            acts.push_back({Does::charge, -1, call_.between(p_, rank, rank)});
            return true;
        }
        auto const i = (s - 1) % std::max(1, others);
        auto const nth = by_rank_ ? i + (i >= rank ? 1 : 0) : -1;
        if (s <= others)
            acts.push_back({Does::receive, by_rank_ ? nth : (rank + 1 + i) % p_});
        else if (s <= 2 * others) {
            auto const to = by_rank_ ? nth : (rank - 1 - i + p_) % p_;
            acts.push_back({Does::send, to, call_.between(p_, rank, to)});
        } else if (s == 2 * others + 1)
            acts.push_back({Does::all});
        else
            return false;
        return true;
    }

  private:
    std::int32_t p_;
    Call call_;
    bool by_rank_;
};

// Some receives and sends, and a wait for all of them, again and again.
class Scattered : public Schedule {
  public:
    Scattered(std::int32_t ranks, Call const &call)
        : p_(ranks), window_(call.parameter), itself_(call.itself != 0), call_(call) {}
    bool step(std::int32_t rank, std::int32_t s, Acts &acts) const override {
        auto const first = std::int64_t(s) * window_;
        if (first >= p_)
            return false;
        auto const end = std::int32_t(std::min<std::int64_t>(p_, first + window_));
        if (s == 0 && !itself_)
            acts.push_back({Does::charge, -1, call_.between(p_, rank, rank)});
        auto const least = std::max(std::int32_t(first), itself_ ? 0 : 1);
        for (auto i = least; i < end; ++i)
            acts.push_back({Does::receive, (rank + i) % p_});
        for (auto i = least; i < end; ++i) {
            auto const to = (rank - i + p_) % p_;
            acts.push_back({Does::send, to, call_.between(p_, rank, to)});
        }
        acts.push_back({Does::all});
        return true;
    }

  private:
    std::int32_t p_, window_;
    bool itself_;
    Call call_;
};

} // namespace

std::unique_ptr<Schedule> schedule_of(Call const &call, alltoall::Nodes const &nodes) {
    auto const ranks = nodes.ranks();
    switch (Algorithm(call.algorithm)) {
    case Algorithm::together:
        return std::make_unique<Together>();
    case Algorithm::barrier:
        return std::make_unique<Barrier>(ranks, 2, 0);
    case Algorithm::barrier_of_later:
        return std::make_unique<Barrier>(ranks, 0, 1);
    case Algorithm::dissemination: // MPI_Barrier
        return std::make_unique<Barrier>(ranks, 0, 0);
    case Algorithm::ring:
    case Algorithm::exclusive_or:
        return std::make_unique<Partners>(ranks, call);
    case Algorithm::bruck:
        return std::make_unique<Bruck>(ranks, call.bytes);
    case Algorithm::doubling:
        return std::make_unique<Doubling>(ranks, call.bytes);
    case Algorithm::linear:
    case Algorithm::linear_v:
        return std::make_unique<Linear>(ranks, call);
    case Algorithm::scattered:
        return std::make_unique<Scattered>(ranks, call);
    default:
        return own_schedule_of(call, nodes);
    }
}

} // namespace weft::rounds
