// SPDX-License-Identifier: BSD-3-Clause
// The kernel `exchange`: the all-to-all calls of the tara papers on the contention set, or in a whole sample sort.
//
//   n, m     vectors of the global array, doubles of a vector
//   data     contention | uniform | skewed | reverse | file
//   file     the keys, for data = file
//   algorithm  of A, B and C: the library's own (default), or one of native/alltoall, such as "node.multi{nl=4}"
//   calls    of A, B, C; for the contention set (a sort always measures sort, A, C, merge and total)
//   explain  1: the breakdown of C, or of B where C is not measured; for the contention set
#include "cell/kernels.hpp"

#include "breakdown/breakdown.hpp"
#include "exchange/contention_exchange.hpp"
#include "exchange/joint_proof.hpp"
#include "exchange/sample_sort.hpp"
#include "record/npy_file.hpp"

#include <algorithm>
#include <array>
#include <memory>

namespace weft {

namespace {

struct Request {
    std::uint64_t n;
    std::uint64_t m;
    std::string data;
    Calls calls;

    [[nodiscard]] bool contention() const { return data == "contention"; }
};

std::uint64_t positive(Cell const &cell, std::string_view key) {
    auto const value = cell.integer(key);
    if (value < 1) {
        throw Failure("cell " + cell.name() + ": " + std::string(key) + " = " + std::to_string(value) + " is under 1",
                      "give " + std::string(key) + " >= 1 in the study", true);
    }
    return static_cast<std::uint64_t>(value);
}

Calls calls_of(Cell const &cell) {
    if (!cell.has("calls")) {
        return {true, true, true};
    }
    Calls calls;
    for (auto const &word : cell.words("calls")) {
        if (word != "A" && word != "B" && word != "C") {
            throw Failure("cell " + cell.name() + ": calls has \"" + word + "\"", "give some of A, B and C", true);
        }
        (word == "A" ? calls.counts : word == "B" ? calls.integers : calls.vectors) = true;
    }
    return calls;
}

Request request_of(Cell const &cell) {
    Request request{positive(cell, "n"), positive(cell, "m"), cell.text("data", "contention"), {}};
    constexpr std::array<std::string_view, 5> known{"contention", "uniform", "skewed", "reverse", "file"};
    if (std::find(known.begin(), known.end(), request.data) == known.end()) {
        throw Failure("cell " + cell.name() + ": data = \"" + request.data + "\" is not known",
                      "give contention, uniform, skewed, reverse or file", true);
    }
    if (request.contention()) {
        request.calls = calls_of(cell);
        if (auto const why = contention_refusal(request.n, cell.team().size); !why.empty()) {
            throw Failure("cell " + cell.name() + ": " + why, "give the study that n", true);
        }
    }
    return request;
}

/// Whether to measure a breakdown: blocks of over 2^31 - 1 vectors do not fit into a single message.
bool has_breakdown(Cell const &cell, Request const &request) {
    ContentionSet const set{request.n, cell.team().size};
    return is_explained(cell) && request.contention() && (request.calls.vectors || request.calls.integers) &&
           set.block() <= static_cast<std::uint64_t>(INT_MAX);
}

/// Refuses (status `fabric`) sizes beyond the limits of this MPI or of 64 bits, before any allocation.
void refuse_too_large(Request const &request, int ranks) {
    Sampling const sampling{Share{request.n, ranks}};
    auto const vectors = request.contention() ? sampling.share.largest() : sampling.receive_bound();
    auto const bytes = array_bytes(vectors, request.m);
    if (!bytes || *bytes > std::uint64_t{1} << 62) {
        throw Refusal("memory", "one array of " + std::to_string(vectors) + " vectors of " + std::to_string(request.m) +
                                    " doubles does not fit 62 bits of bytes: ask for less n or m");
    }
    if (request.n > std::uint64_t{1} << 53) {
        throw Refusal("fabric", "n = " + std::to_string(request.n) + " is over 2^53: take a smaller n and a larger m");
    }
    if (auto const why = BlockTable::refusal(vectors, request.m); !why.empty()) {
        throw Refusal("fabric", why);
    }
    if (!request.contention() && sampling.total() > static_cast<std::uint64_t>(INT_MAX)) {
        throw Refusal("fabric", "regular sampling on " + std::to_string(ranks) + " ranks takes " +
                                    std::to_string(sampling.total()) +
                                    " samples, more than one MPI_Gatherv can count: " +
                                    "sort on fewer ranks, or use data = \"contention\"");
    }
}

} // namespace

Need exchange_need(Cell const &cell) {
    auto const request = request_of(cell);
    auto const &team = cell.team();
    refuse_too_large(request, team.size);
    Need need;
    std::int64_t operations = 5;
    if (request.contention()) {
        ContentionExchange::add_need(need, {request.n, team.size}, request.m, request.calls);
        operations = request.calls.count();
    } else {
        SampleSort::add_need(need, request.n, request.m, team.rank, team.size);
    }
    need.parts.push_back({"samples", Recorder::bytes(operations, cell.rules())});
    if (has_breakdown(cell, request)) {
        add_breakdown_need(need, cell, 1);
    }
    need.parts.push_back({"library staging", library_staging_bytes(team.size)});
    return need;
}

namespace {

constexpr char const *folded = "the simulator folds buffers of this size: they have no contents to prove";

void warn_of_wide_counts(Cell &cell, std::uint64_t vectors) {
    if (BlockTable::needs_wide(vectors)) {
        cell.warn("arrays of " + std::to_string(vectors) +
                  " vectors need MPI_Alltoallv_c, and call A carries counts of 64 bits; " +
                  "take a larger m and a smaller n to compare with smaller cells");
    }
}

/// The test hook WEFT_PLANT=corrupt: flips the last bit of the middle number received by the lowest rank that has any.
void plant_corruption(Cell const &cell, std::span<std::byte> received) {
    if (!planted(cell, "corrupt")) {
        return;
    }
    auto const &team = cell.team();
    auto const victim = min_over(team.comm, received.empty() ? team.size : team.rank);
    if (team.rank == victim) {
        received[received.size() / 2 / sizeof(double) * sizeof(double)] ^= std::byte{1};
    }
}

void run_contention(Cell &cell, Request const &request) {
    ContentionExchange exchange(cell.team(), {request.n, cell.team().size}, request.m, request.calls,
                                AllToAll(cell.text("algorithm", "")));
    exchange.fill();
    auto &sampler = cell.sampler();
    auto const measure = [&](auto &&take) {
        if (request.calls.counts) {
            take("A", [&] { exchange.exchange_counts(); });
        }
        if (request.calls.integers) {
            take("B", [&] { exchange.exchange_integers(); });
        }
        if (request.calls.vectors) {
            take("C", [&] { exchange.exchange_vectors(); });
        }
    };
    // One cold round in the order of the algorithm, on unused connections; then each call by itself.
    measure([&](std::string_view op, auto &&call) { sampler.cold(op, call); });
    std::string_view const explained = has_breakdown(cell, request) ? request.calls.vectors ? "C" : "B" : "";
    measure([&](std::string_view op, auto &&call) {
        if (op == explained) {
            auto const blocks = exchange.blocks();
            measure_breakdown(cell, std::string(op), blocks, call);
        } else {
            sampler.warm(op, call);
        }
    });
    if (!exchange.real()) {
        return cell.skip_validation(folded);
    }
    auto const flaws = exchange.prove([&](std::span<std::byte> received) { plant_corruption(cell, received); });
    cell.set_validation(static_cast<std::int64_t>(flaws.count), flaws.first);
}

/// The keys, or a row with status `launch` and the reason: it is tried again when the run is resumed with a valid file.
std::unique_ptr<KeySource> open_keys(Cell const &cell, Request const &request) {
    auto const &team = cell.team();
    std::unique_ptr<KeySource> source;
    std::optional<std::string> reason;
    try {
        source = make_key_source({request.data, request.n, cell.seed(), static_cast<std::uint64_t>(cell.launch_index()),
                                  cell.text("file", "")});
        if (request.data == "file") {
            Share const share{request.n, team.size};
            refuse_nan(*source, share.first(team.rank), share.count(team.rank));
        }
    } catch (KeyFileError const &error) {
        reason = error.what();
    }
    refuse_together(team, "launch", reason);
    return source;
}

/// Proves one sort in a separate iteration: the output is the input, in order.
Flaws prove_sort(Cell const &cell, SampleSort &sort, KeySource &source) {
    sort.fill(source);
    auto const before = contents_of(sort.unsorted());
    sort.sort_locally();
    sort.spoil_received();
    sort.exchange_counts();
    sort.exchange_vectors();
    sort.merge();
    plant_corruption(cell, std::as_writable_bytes(sort.sorted().elements()));
    auto flaws = check_sorted(cell.team().rank, sort.sorted());
    flaws.join(check_order_across(cell.team(), sort.sorted()));
    flaws.join(check_preserved(cell.team(), before, contents_of(sort.sorted())));
    return flaws;
}

void run_sort(Cell &cell, Request const &request) {
    auto const source = open_keys(cell, request);
    SampleSort sort(cell.team(), request.n, request.m, AllToAll(cell.text("algorithm", "")));
    refuse_together(cell.team(), "fabric",
                    sort.real()
                        ? std::nullopt
                        : std::optional<std::string>("the simulator folds buffers of this size, and a sort needs its "
                                                     "keys: take a smaller n or m, or data = \"contention\""));
    constexpr std::array<std::string_view, 5> ops{"sort", "A", "C", "merge", "total"};
    auto const prepare = [&] { sort.fill(*source); };
    auto const body = [&](Laps &laps) {
        sort.sort_locally();
        laps.mark(0);
        sort.exchange_counts();
        laps.mark(1);
        sort.exchange_vectors();
        laps.mark(2);
        sort.merge();
        laps.mark(3);
    };
    cell.sampler().cold_steps(ops, prepare, body);
    cell.sampler().warm_steps(ops, prepare, body);
    auto const flaws = prove_sort(cell, sort, *source);
    cell.set_validation(static_cast<std::int64_t>(flaws.count), flaws.first);
}

} // namespace

void run_exchange(Cell &cell) {
    auto const request = request_of(cell);
    auto const &team = cell.team();
    Sampling const sampling{Share{request.n, team.size}};
    warn_of_wide_counts(cell, request.contention() ? sampling.share.largest() : sampling.receive_bound());
    if (request.contention()) {
        run_contention(cell, request);
    } else {
        run_sort(cell, request);
    }
}

} // namespace weft
