// SPDX-License-Identifier: BSD-3-Clause
// The kernel `collective`: one collective call over a sweep of sizes.
//
//   collective  bcast | alltoall | alltoallv | scatter | gather | allgather | allreduce | reduce | reduce_scatter
//   bytes       sizes of a block (what one rank sends to one other) or of the message; see size_sweep.hpp
//   refine      most sizes to add where times deviate from the line between their neighbours
//   form        plain | inplace | vector | neighbor (of alltoallv: MPI_Neighbor_alltoall over the graph of `weights`)
//   root        a rank, or -1: the next rank in each call
//   cases       exact number of samples, with root -1 from as many evenly spaced roots: for times that repeat
//   pattern     of alltoallv: equal | linear | heavy | matrix, with `weights`, p x p whole numbers
//   algorithm   of alltoall and alltoallv: the library's own (default), or one of native/alltoall, "node.multi{nl=4}"
//   table       in place of algorithm: a selection table, by which each call chooses as libweft.so does
//   explain     1: the breakdown of each size, for alltoall and alltoallv
//   guidelines  what to hold the call against, in turns with it (guidelines.hpp)
//   overlap     1: how much of the non-blocking call hides behind computation (overlap.hpp)
//
// The operations are named after all this, "alltoallv-linear@1024", and `barrier` is their floor.
#include "breakdown/breakdown.hpp"
#include "cell/kernels.hpp"
#include "cell/size_sweep.hpp"
#include "collective/collective_data.hpp"
#include "collective/guidelines.hpp"
#include "collective/neighbors.hpp"
#include "collective/overlap.hpp"

#include <algorithm>
#include <climits>
#include <memory>
#include <optional>
#include <stdexcept>

namespace weft {

namespace {

/// The parsed values of a cell of this kernel.
struct CollectiveRequest {
    CollectiveForm form;
    std::shared_ptr<BlockPattern const> pattern;
    std::vector<std::int64_t> sizes;
    std::string op; ///< without the size
    Comm graph;     ///< of the neighbourhood form, once it is made
};

Failure collective_failure(Cell const &cell, std::string const &why) {
    return {"cell " + cell.name() + ": " + why, "change the study's section [collective]", true};
}

std::shared_ptr<BlockPattern const> pattern_of(Cell const &cell) {
    std::vector<std::int64_t> weights;
    if (cell.has("weights")) {
        for (std::string const &word : cell.words("weights")) {
            weights.push_back(to_integer(word, "weights"));
        }
    }
    try {
        return std::make_shared<BlockPattern const>(cell.text("pattern", "equal"), cell.team().size,
                                                    std::move(weights));
    } catch (std::invalid_argument const &why) {
        throw collective_failure(cell, why.what());
    }
}

void set_form(Cell const &cell, CollectiveRequest &request) {
    std::string const form = cell.text("form", "plain");
    Collective const &collective = *request.form.collective;
    request.form.in_place = form == "inplace";
    request.form.spread = form == "vector";
    bool const neighbor = form == "neighbor";
    if (form != "plain" && !request.form.in_place && !request.form.spread && !neighbor) {
        throw collective_failure(cell, "form " + form + " is none of plain, inplace, vector, neighbor");
    }
    if (neighbor && (!collective.by_counts || !cell.has("weights") || platform::one_clock())) {
        throw collective_failure(cell, "the form neighbor is one of alltoallv with a graph, and no simulator's");
    }
    if (std::string const why = neighbor ? refuse_graph(*request.pattern, cell.team().size) : ""; !why.empty()) {
        throw collective_failure(cell, why);
    }
    bool const unequal = collective.by_counts && cell.text("pattern", "equal") != "equal";
    if (request.form.in_place && (!collective.in_place || unequal)) {
        throw collective_failure(cell, request.op + " has no form in place");
    }
    if (request.form.spread && collective.reduces) {
        throw collective_failure(cell, request.op + " adds up doubles, and MPI_SUM takes no derived datatype");
    }
    request.form.collective = neighbor ? &neighbor_alltoall() : request.form.collective;
    request.op += form == "plain" ? "" : "-" + form;
}

/// A guideline, or an overlap, is about the plain call of the library. One root for all: in a rotation each turn would
/// have its own.
void require_plain(Cell const &cell, CollectiveRequest &request) {
    std::string const algorithm = cell.text("algorithm", "default");
    if (cell.text("form", "plain") != "plain" || !request.pattern->is_equal() || cell.has("table") ||
        is_explained(cell) || algorithm != "default") {
        throw collective_failure(cell, "guidelines and overlap are about a plain call with equal blocks, without a "
                                       "breakdown or algorithm");
    }
    request.form.root = request.form.root.value_or(0);
}

CollectiveRequest collective_request(Cell const &cell) {
    CollectiveRequest request;
    request.form.collective = &collective_named(cell.text("collective"));
    request.op = request.form.collective->name;
    request.pattern = pattern_of(cell);
    request.form.pattern = request.pattern.get();
    if (request.form.collective->by_counts && cell.text("pattern", "equal") != "equal") {
        request.op += "-" + cell.text("pattern");
    }
    set_form(cell, request);
    std::int64_t const root = cell.integer("root", -1);
    if (root >= cell.team().size) {
        throw collective_failure(cell, "root " + std::to_string(root) + " is none of its " +
                                           std::to_string(cell.team().size) + " ranks");
    }
    if (root >= 0) {
        request.form.root = int(root);
    }
    request.form.mocked = Guidelines::any(cell);
    if (request.form.mocked || Overlap::any(cell)) {
        require_plain(cell, request);
    }
    request.form.wide = MPI_VERSION >= 4 && planted(cell, "wide"); // a test's, of counts that need no 8 GiB
    request.form.algorithm =
        cell.has("table") ? AllToAll::by_table(cell.text("table")) : AllToAll(cell.text("algorithm", ""));
    request.sizes = sizes_of(cell);
    for (std::int64_t const bytes : request.sizes) {
        if (bytes % request.form.unit() != 0) {
            throw collective_failure(cell, request.op + " of " + std::to_string(bytes) + " bytes: its elements have " +
                                               std::to_string(request.form.unit()));
        }
    }
    return request;
}

/// The test hook WEFT_PLANT=corrupt: flips one bit in the middle of the data received by the lowest rank that has any.
void plant_in_block(Cell const &cell, std::span<std::byte> received) {
    if (!planted(cell, "corrupt")) {
        return;
    }
    Team const &team = cell.team();
    if (min_over(team.comm, received.empty() ? team.size : team.rank) == team.rank) {
        received[received.size() - 1] ^= std::byte{1};
    }
}

/// Proves every measured size, for the first and the last root, in separate iterations.
void prove_all(Cell &cell, CollectiveData &data, CollectiveRequest const &request,
               std::vector<std::int64_t> const &measured, std::vector<MockUp const *> const &mock_ups) {
    if (!data.real()) {
        return cell.skip_validation("the simulator folds buffers of this size: they have no contents to prove");
    }
    std::vector<int> roots{request.form.root.value_or(0)};
    if (request.form.collective->rooted && !request.form.root && cell.team().size > 1) {
        roots.push_back(cell.team().size - 1);
    }
    Flaws flaws;
    for (std::int64_t const bytes : measured) {
        data.set_block(bytes);
        for (int const root : roots) {
            auto const plant = [&](std::span<std::byte> received) { plant_in_block(cell, received); };
            flaws.join(data.prove(root, plant));
            for (MockUp const *const each : mock_ups) {
                flaws.join(data.prove(root, plant, each));
            }
        }
    }
    cell.set_validation(std::int64_t(flaws.count), flaws.first);
}

bool has_breakdown_of_sizes(Cell const &cell, CollectiveRequest const &request) {
    Collective const &what = *request.form.collective;
    return is_explained(cell) && what.sent == Blocks::all && what.received == Blocks::all;
}

/// Warm samples of a size: alone, in turns with a breakdown, or with what guidelines hold the call against.
void measure_size(Cell &cell, CollectiveData &data, CollectiveRequest const &request, Guidelines *guidelines,
                  Overlap *overlap, std::int64_t bytes) {
    // In a batch of calls with a root nothing synchronises the ranks: a fixed root runs ahead, and with rotating roots
    // the next call's tree starts while the last one is still in progress. A barrier in between would be timed too. So
    // each call is a separate sample, from a common start.
    std::int64_t const cases = cell.integer("cases", 0);
    How const how{.batch = !request.form.collective->rooted, .exactly = cases};
    auto const call = [&] { data.call(); };
    data.set_block(bytes);
    data.begin_roots(cases > 0 ? cases : cell.team().size);
    for (int i = 0; i < request.form.algorithm.calls_to_learn(); ++i) {
        data.call();
    }
    if (guidelines != nullptr) {
        guidelines->measure(cell.sampler(), request.op, bytes, call, how);
    } else if (overlap != nullptr) {
        overlap->measure(cell.sampler(), request.op, bytes, call, how);
    } else if (has_breakdown_of_sizes(cell, request)) {
        measure_breakdown(cell, op_at(request.op, bytes), data.blocks(), call, how);
    } else {
        cell.sampler().warm(op_at(request.op, bytes), call, how);
    }
}

/// The floor of the cell: an operation without data.
void measure_barrier(Cell &cell) {
    MPI_Comm const comm = cell.team().comm;
    auto const barrier = [comm] { check(MPI_Barrier(comm), "MPI_Barrier"); };
    cell.sampler().cold("barrier", barrier);
    cell.sampler().warm("barrier", barrier);
}

} // namespace

Need collective_need(Cell const &cell) {
    CollectiveRequest const request = collective_request(cell);
    std::int64_t const most = request.sizes.back();
    if (auto const why = CollectiveData::refusal(cell.team(), request.form, most); !why.empty()) {
        throw Refusal("fabric", why);
    }
    Need need;
    CollectiveData::add_need(need, cell.team(), request.form, most);
    Rules rules = cell.rules();
    rules.max_samples = std::max(rules.max_samples, cell.integer("cases", 0));
    need.parts.push_back({"samples", Recorder::bytes(most_sizes(cell) + 1, rules)});
    if (has_breakdown_of_sizes(cell, request)) {
        add_breakdown_need(need, cell, most_sizes(cell));
    }
    if (request.form.mocked) {
        if (most > (INT_MAX - 1) / (cell.team().size + 1)) {
            throw Refusal("fabric", "a mock-up of " + std::to_string(most) + " bytes from " +
                                        std::to_string(cell.team().size) + " ranks has more than an int counts");
        }
        if (auto const why = CollectiveData::refusal(cell.team(), request.form, 2 * most); !why.empty()) {
            throw Refusal("fabric", why);
        }
        Guidelines::add_need(need, cell, request.form, most, most_sizes(cell));
    }
    if (Overlap::any(cell)) {
        if (platform::one_clock()) {
            throw Refusal("fabric", "a simulator has no computation that a call could hide behind");
        }
        Overlap::add_need(need, cell, most_sizes(cell));
    }
    bool const narrow = Overlap::any(cell) || request.form.collective == &neighbor_alltoall();
    if (narrow && CollectiveData::needs_wide(cell.team(), request.form, most)) {
        throw Refusal("fabric", "non-blocking and neighbourhood calls are measured with counts of ints: take smaller "
                                "blocks");
    }
    need.parts.push_back({"library staging", library_staging_bytes(cell.team().size)});
    return need;
}

static CollectiveRequest request_with_graph(Cell &cell) {
    CollectiveRequest request = collective_request(cell);
    if (request.form.collective == &neighbor_alltoall()) {
        request.graph = make_graph(cell.team(), *request.pattern);
        request.form.graph = request.graph;
    }
    return request;
}

void run_collective(Cell &cell) {
    CollectiveRequest request = request_with_graph(cell);
    CollectiveData data(cell.team(), request.form, request.sizes.back());
    data.settle();
    platform::split_by_node(cell.team().comm);
    Sampler &sampler = cell.sampler();
    auto const call = [&] { data.call(); };
    auto const first_call = [&](std::int64_t bytes) {
        data.set_block(bytes);
        data.begin_roots(1);
        sampler.cold(op_at(request.op, bytes), call);
    };
    // First contact in ascending order of sizes, as in an application; then each size by itself.
    for (std::int64_t const bytes : request.sizes) {
        first_call(bytes);
    }
    std::optional<Guidelines> guidelines; // they make a communicator: after the first calls
    if (request.form.mocked) {
        guidelines.emplace(cell, request.form, request.sizes.back(), data);
    }
    std::optional<Overlap> overlap;
    if (Overlap::any(cell)) {
        overlap.emplace(cell, request.form, data);
    }
    std::vector<std::int64_t> measured;
    sweep_sizes(cell, request.op, request.form.unit(), [&](std::int64_t bytes) {
        if (std::find(request.sizes.begin(), request.sizes.end(), bytes) == request.sizes.end()) {
            first_call(bytes);
        }
        if (guidelines && guidelines->is_too_long(cell, request.op, bytes)) {
            return;
        }
        measure_size(cell, data, request, guidelines ? &*guidelines : nullptr, overlap ? &*overlap : nullptr, bytes);
        measured.push_back(bytes);
    });
    measure_barrier(cell);
    std::sort(measured.begin(), measured.end());
    prove_all(cell, data, request, measured, guidelines ? guidelines->mock_ups() : std::vector<MockUp const *>{});
}

} // namespace weft
