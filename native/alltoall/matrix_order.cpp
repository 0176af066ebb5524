// SPDX-License-Identifier: BSD-3-Clause
#include "matrix_order.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace weft::alltoall {

namespace {

using Sums = std::vector<std::int64_t>;

struct Lines {
    Sums sent, received;

    explicit Lines(NodeMatrix const &matrix)
        : sent(std::size_t(matrix.nodes), 0), received(std::size_t(matrix.nodes), 0) {
        for (int from = 0; from < matrix.nodes; ++from) {
            for (int to = 0; to < matrix.nodes; ++to) {
                std::int64_t const bytes = from == to ? 0 : matrix.at(from, to);
                sent[std::size_t(from)] += bytes;
                received[std::size_t(to)] += bytes;
            }
        }
    }

    std::int64_t most() const {
        std::int64_t most = 0;
        for (std::size_t node = 0; node < sent.size(); ++node) {
            most = std::max({most, sent[node], received[node]});
        }
        return most;
    }
};

std::vector<int> hottest_first(Sums const &sums) {
    std::vector<int> nodes(sums.size());
    std::iota(nodes.begin(), nodes.end(), 0);
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](int a, int b) { return sums[std::size_t(a)] > sums[std::size_t(b)]; });
    return nodes;
}

/// Senders by the time at which they are free, in slots of a fraction of the whole: a heap of them costs more than
/// all else.
class Calendar {
  public:
    Calendar(int nodes, std::int64_t slot) : slot_(slot), next_(std::size_t(nodes), -1) {}

    void put(int node, std::int64_t time) {
        auto const at = std::size_t(time / slot_);
        if (at >= first_.size()) {
            first_.resize(at + 1, -1);
        }
        next_[std::size_t(node)] = first_[at];
        first_[at] = node;
        ++count_;
    }

    int take() {
        while (now_ < first_.size() && first_[now_] < 0) {
            ++now_;
        }
        int const node = first_[now_];
        first_[now_] = next_[std::size_t(node)];
        --count_;
        return node;
    }

    /// The sender after that, if it is of the same slot; else -1.
    int next() const { return first_[now_]; }

    bool empty() const noexcept { return count_ == 0; }

  private:
    std::int64_t slot_;
    std::vector<int> first_; // [slot], then by `next_`
    std::vector<int> next_;
    std::size_t now_ = 0;
    int count_ = 0;
};

constexpr int most_compared = 64;           // candidates for a pick
constexpr std::int64_t least_part = 16'384; // bytes: below that a message's own cost exceeds that of its bytes

/// The largest over the mean.
double peak_of(Sums const &sums) {
    double const all = double(std::accumulate(sums.begin(), sums.end(), std::int64_t{0}));
    return double(*std::max_element(sums.begin(), sums.end())) * double(sums.size()) / std::max(all, 1.0);
}

constexpr double even = 1.25; // up to that peak

/// A receiver is given n / (n - 1) times what it can take, so that late senders leave no gap; n = 1: all that others
/// send. The more even the senders, the less one of them loses where too many meet: found with 8, 16, 32 and 80 nodes.
std::int64_t given_ahead(Lines const &lines, bool large) {
    double const peak = peak_of(lines.sent);
    return large || peak > 2 ? 8 : peak > even ? 2 : 1;
}

std::int64_t largest_pair(NodeMatrix const &matrix) {
    std::int64_t most = 0;
    for (int from = 0; from < matrix.nodes; ++from) {
        for (int to = 0; to < matrix.nodes; ++to) {
            most = std::max(most, from == to ? 0 : matrix.at(from, to));
        }
    }
    return most;
}

/// The longest part.
std::int64_t part_length(NodeMatrix const &matrix, Lines const &lines, bool large) {
    std::int64_t const streams = std::max(matrix.nodes - 1, 1), mean = (lines.most() + streams - 1) / streams;
    bool const fine = !large && peak_of(lines.sent) <= even && peak_of(lines.received) <= even &&
                      double(largest_pair(matrix)) > even * double(mean);
    return std::max(least_part, fine ? mean / 4 : mean);
}

/// What a sender has left for a receiver.
struct Job {
    std::int64_t left;
    int to;
};

class OpenShop {
  public:
    OpenShop(NodeMatrix const &matrix, int home)
        : matrix_(matrix), home_(home), nodes_(std::size_t(matrix.nodes)), lines_(matrix),
          slot_(std::max<std::int64_t>(1, lines_.most() / (16 * matrix.nodes))),
          is_large_(matrix.nodes > most_compared), part_(part_length(matrix, lines_, is_large_)),
          ahead_(given_ahead(lines_, is_large_)), free_(nodes_, 0), jobs_(nodes_ * nodes_), first_(nodes_),
          last_(nodes_) {}

    std::vector<Part> run() {
        Calendar calendar(matrix_.nodes, slot_);
        auto const senders = hottest_first(lines_.sent), receivers = hottest_first(lines_.received);
        for (std::size_t place = nodes_; place-- > 0;) { // the calendar gives the last one first
            if (list_jobs(senders[place], place, receivers)) {
                calendar.put(senders[place], 0);
            }
        }
        Sums idle(nodes_, 0); // [sender]: when it has sent all so far
        while (!calendar.empty()) {
            int const node = calendar.take();
            auto const sender = std::size_t(node);
            if (int const next = calendar.next(); next >= 0) {
                __builtin_prefetch(&jobs_[first_[std::size_t(next)]]); // of 1,024 nodes they fill more than a cache
            }
            idle[sender] = send(node, idle[sender]);
            if (first_[sender] < last_[sender]) {
                calendar.put(node, idle[sender]);
            }
        }
        std::sort(made_.begin(), made_.end(), [](Part const &a, Part const &b) {
            return std::tuple(a.start, a.from, a.to, a.low) < std::tuple(b.start, b.from, b.to, b.low);
        });
        return std::move(made_);
    }

  private:
    /// The jobs of a sender, the receivers hottest first from its own place on, so that senders begin with different
    /// ones; whether there are any.
    bool list_jobs(int sender, std::size_t place, std::vector<int> const &receivers) {
        std::size_t at = std::size_t(sender) * nodes_;
        first_[std::size_t(sender)] = at;
        for (std::size_t step = 0; step < nodes_; ++step) {
            int const to = receivers[(place + step) % nodes_];
            if (to != sender && matrix_.at(sender, to) > 0) {
                jobs_[at++] = {matrix_.at(sender, to), to};
            }
        }
        last_[std::size_t(sender)] = at;
        return at > first_[std::size_t(sender)];
    }

    /// Starts the sender's next part; returns when it ends.
    std::int64_t send(int sender, std::int64_t now) {
        std::size_t &first = first_[std::size_t(sender)];
        std::size_t const chosen = choose(first, last_[std::size_t(sender)], now + slot_);
        Job &job = jobs_[chosen];
        auto const to = std::size_t(job.to);
        std::int64_t const bytes = std::min(job.left, part_), start = std::max(now, free_[to]);
        if (sender == home_ || job.to == home_) {
            std::int64_t const whole = matrix_.at(sender, job.to), low = whole - job.left;
            made_.push_back({sender, job.to, low, low + bytes, whole, start});
        }
        job.left -= bytes;
        lines_.received[to] -= bytes;
        free_[to] = start + bytes - bytes / ahead_;
        if (job.left == 0) {
            std::copy_backward(&jobs_[first], &jobs_[chosen], &jobs_[chosen] + 1);
            ++first;
        }
        return start + bytes;
    }

    /// The hottest of the receivers that are free by `time`, or of many nodes the first; the next to be if none is.
    std::size_t choose(std::size_t first, std::size_t last, std::int64_t time) const {
        std::size_t best = first;
        std::int64_t hottest = INT64_MIN;
        for (std::size_t place = first; place < std::min(last, first + (is_large_ ? 16 : most_compared)); ++place) {
            auto const to = std::size_t(jobs_[place].to);
            if (free_[to] <= time && is_large_) {
                return place;
            }
            std::int64_t const heat = free_[to] <= time ? lines_.received[to] : -1 - free_[to];
            best = heat > hottest ? place : best; // without a branch: two thirds of the time
            hottest = std::max(hottest, heat);
        }
        return best;
    }

    NodeMatrix const &matrix_;
    int home_;
    std::size_t nodes_;
    Lines lines_; // of which `received` is what is left
    std::int64_t slot_;
    bool is_large_;
    std::int64_t part_; // the longest
    std::int64_t ahead_;
    Sums free_;             // [receiver]: when it has received all so far
    std::vector<Job> jobs_; // [sender], from first_ to last_
    std::vector<std::size_t> first_, last_;
    std::vector<Part> made_;
};

} // namespace

bool is_small(NodeMatrix const &matrix, Nodes const &nodes) {
    std::int64_t bytes = 0, blocks = 0;
    for (int from = 0; from < matrix.nodes; ++from) {
        for (int to = 0; to < matrix.nodes; ++to) {
            bytes += from == to ? 0 : matrix.at(from, to);
            blocks += from == to ? 0 : std::int64_t(nodes.size_of(from)) * nodes.size_of(to);
        }
    }
    double const most = even * double(bytes) / double(std::max<std::int64_t>(blocks, 1));
    bool small = nodes.largest() > 1 && bytes > 0 && bytes < most_small * blocks;
    for (int from = 0; from < matrix.nodes; ++from) {
        for (int to = 0; to < matrix.nodes; ++to) {
            double const pairs = double(nodes.size_of(from)) * nodes.size_of(to);
            small = small && (from == to || double(matrix.at(from, to)) <= most * pairs);
        }
    }
    return small;
}

std::int64_t NodeMatrix::busiest() const {
    return Lines(*this).most();
}

std::vector<Part> matrix_order(NodeMatrix const &matrix, int home) {
    return OpenShop(matrix, home).run();
}

} // namespace weft::alltoall
