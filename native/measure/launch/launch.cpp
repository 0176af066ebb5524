// SPDX-License-Identifier: BSD-3-Clause
#include "launch/launch.hpp"

#include "cell/cell.hpp"
#include "cell/cell_record.hpp"
#include "cell/kernels.hpp"
#include "cell/node_report.hpp"
#include "host/file.hpp"
#include "host/host_memory.hpp"
#include "host/memory.hpp"
#include "host/shared_cores.hpp"
#include "launch/provenance.hpp"
#include "launch/timed_teams.hpp"
#include "mpi/agree.hpp"
#include "record/store.hpp"
#include "sample/sampler.hpp"

#include <filesystem>
#include <optional>
#include <system_error>

namespace weft {

namespace {

/// State that all cells of a launch share.
struct Launch {
    Plan const &plan;
    Team const &world;
    TimedTeams &teams;
    Status &status;
    std::vector<std::string> const &placement; ///< warnings of all cells of the launch; rank 0
};

void make_folders(Team const &world, Plan const &plan) {
    on_rank_0(world, [&] {
        for (char const *const name : {"/cells", "/launches"}) {
            std::error_code error;
            std::filesystem::create_directories(plan.folder + name, error);
            if (error) {
                throw Failure("cannot make " + plan.folder + name + ": " + error.message(), file_remedy(error.value()));
            }
        }
    });
}

/// Swap and steal time are counted per host, so one rank of each host reads them.
platform::Pressure pressure_of_node(Team const &world) {
    return world.local_rank == 0 ? platform::pressure() : platform::Pressure{};
}

platform::Pressure pressure_since(Team const &world, platform::Pressure const &before) {
    platform::Pressure const now = pressure_of_node(world);
    return {sum_over(world.comm, now.swap_in_pages - before.swap_in_pages),
            sum_over(world.comm, now.swap_out_pages - before.swap_out_pages),
            sum_over(world.comm, now.steal_ns - before.steal_ns)};
}

void plant_fault(Cell const &cell) {
    if (cell.team().rank != cell.team().size - 1) {
        return;
    }
    if (planted(cell, "hang")) {
        platform::hang();
    }
    if (planted(cell, "crash")) {
        platform::crash();
    }
}

/// The batches that an earlier launch of this cell chose (METHOD 7). Rank 0 reads and broadcasts them.
BatchBook read_batches(Team const &team, std::string const &path, std::string const &owner) {
    return BatchBook::parse(text_of(team, team.rank == 0 ? read_text(path) : ""), owner);
}

/// Ends the phase of first calls: from now on the ranks use MPI, and their clocks are synchronised.
void settle(TimedTeam &timed, Recorder &recorder) {
    bool const had_first_calls = timed.team.back != nullptr;
    timed.settle();
    for (Segment &segment : recorder.segments()) {
        if (had_first_calls) {
            segment.line = timed.clock.line(); // the cell's line begins later
        }
    }
    timed.clock.begin();
}

/// Why those who have work beside a cell cannot do it.
using Refused = std::optional<Refusal>;

/// Collective over the launch: what the ranks of another team threw together.
Refused shared_refusal(Team const &world, Refused const &own) {
    int const rank = int(max_over(world, own ? world.rank : -1));
    if (rank < 0) {
        return std::nullopt;
    }
    std::string const status = text_of(world, own ? own->status() : "", rank);
    return Refusal(status, text_of(world, own ? own->what() : "", rank));
}

/// Collective over those who have work beside a cell; what they cannot do is in `refused`.
std::function<bool()> work_beside(Launch const &launch, Kernel const &kernel, Cell &cell, Refused &refused) {
    try {
        auto const memory = guard_memory(cell.team(), kernel.need_beside(cell), launch.plan.memory_limit_bytes);
        if (!memory.fits) {
            throw Refusal("memory", memory.reason);
        }
        return kernel.beside(cell);
    } catch (Refusal const &refusal) {
        refused = refusal;
        return {};
    }
}

/// Memory guard, kernel, proof. The measured samples are in the recorder.
void measure(Launch const &launch, TimedTeam &timed, Cell &cell, Refused const &refused, Recorder &recorder,
             Outcome &outcome, std::vector<std::string> &warnings) {
    Kernel const &kernel = kernel_named(cell.kernel());
    Sampler sampler(timed.team, timed.clock, timed.start, launch.plan.rules, recorder, launch.status);
    cell.use(sampler, &timed.clock);
    std::string const batches = launch.plan.folder + "/cells/" + cell.name() + ".batches";
    std::string const owner = launch.plan.run + " " + cell.hash();
    sampler.batches() = read_batches(timed.team, batches, owner);
    std::optional<NodeReport> nodes;
    try {
        if (refused) {
            throw Refusal(*refused);
        }
        outcome.memory = guard_memory(timed.team, kernel.need(cell), launch.plan.memory_limit_bytes);
        if (!outcome.memory.fits) {
            throw Refusal("memory", outcome.memory.reason);
        }
        plant_fault(cell);
        if (is_check(cell) && !platform::one_clock()) { // simulated nodes are all this host
            nodes.emplace(timed.team);
        }
        if (kernel.begins_with_first_calls && timed.team.back) {
            sampler.once_warm([&] { settle(timed, recorder); });
        } else {
            settle(timed, recorder);
        }
        kernel.run(cell);
        if (cell.has("copies") && kernel.run != run_floor) {
            measure_floor_beside(cell);
        }
        outcome.nodes = nodes ? nodes->gather(library_version()) : "";
        sampler.settle_losses();
        timed.clock.end();
        cell.close();
        sampler.settle_definitions();
        if (sampler.batches().is_new()) {
            on_rank_0(timed.team, [&] { write_file(batches, sampler.batches().text(owner)); });
        }
        if (cell.validation().errors > 0) {
            outcome.status = "invalid";
            outcome.reason = cell.validation().detail;
        }
    } catch (Refusal const &refusal) {
        outcome.status = refusal.status();
        outcome.reason = refusal.what();
    }
    timed.settle(); // a cell that ended early made no first call, and later cells of the launch make none
    warnings = cell.warnings();
    warnings.insert(warnings.end(), launch.placement.begin(), launch.placement.end());
    warnings.insert(warnings.end(), sampler.warnings().begin(), sampler.warnings().end());
}

/// Collective over the team. False if the result was proved wrong.
bool run_in(Launch const &launch, TimedTeam &timed, CellPlan const &values, Refused const &refused) {
    Team const &team = timed.team;
    Cell cell(launch.plan, values, team, launch.world.comm);
    std::int64_t const began = timed.clock.now();
    platform::Pressure const before = pressure_of_node(team);

    Recorder recorder;
    Outcome outcome;
    std::vector<std::string> warnings;
    measure(launch, timed, cell, refused, recorder, outcome, warnings);
    outcome.pressure = pressure_since(team, before);
    outcome.wall_ns = timed.clock.now() - began;

    launch.status.set("-", "-", "writing");
    std::string const path =
        launch.plan.folder + "/cells/" + cell.name() + ".l" + std::to_string(launch.plan.launch_index);
    bool const measured = outcome.status == "ok" || outcome.status == "invalid";
    if (measured) {
        outcome.crcs =
            write_slabs(team, slab_of(recorder, timed.clock, timed.epoch_ns), path + ".npy", launch.plan.posix_io);
    }
    on_rank_0(team, [&] {
        write_file(path + ".json", describe_cell(launch.plan, cell, outcome, recorder, timed.clock, warnings));
    });
    if (team.rank == team.size - 1 && planted(cell, "stop")) {
        platform::stop();
    }
    return outcome.status != "invalid";
}

/// What `call` returns. If all ranks of a team throw together, the ranks that wait for them do not know it.
template <class Call> auto of_team(Launch const &launch, Team const &team, Call const &call) {
    try {
        return call();
    } catch (Failure const &failure) {
        throw Failure(failure.what(), failure.remedy(), failure.everywhere() && team.size == launch.world.size);
    }
}

/// Collective over the launch. False, on the ranks that took part, if the result was proved wrong.
bool run_cell(Launch const &launch, CellPlan const &values) {
    launch.status.cell(values.name);
    platform::arm_watchdog(launch.plan.limit_ns, launch.status.fd(), launch.status.offset());
    TimedTeam *const timed = launch.teams.of(values);
    Kernel const &kernel = kernel_named(values.kernel);
    std::optional<Cell> other; // for ranks that have work beside it
    std::function<bool()> work;
    Refused refused;
    if (kernel.beside != nullptr) {
        CellPlan const beside = beside_of(values);
        if (TimedTeam *const team = launch.teams.of(beside)) {
            other.emplace(launch.plan, values, team->team, launch.world.comm);
            work = of_team(launch, team->team, [&] { return work_beside(launch, kernel, *other, refused); });
        }
        refused = shared_refusal(launch.world, refused);
    }
    bool right = true;
    if (timed == nullptr) {
        launch.status.set("-", "waiting", "for-others"); // the watchdog replaces only the last word
    } else {
        right = of_team(launch, timed->team, [&] { return run_in(launch, *timed, values, refused); });
    }
    if (!members_of(values, launch.world.size).empty()) {
        launch.teams.wait_for(timed, work);
    }
    launch.status.set("-", "-", "done");
    return right;
}

void write_launch(TimedTeam const &all, Plan const &plan, LibrarySettings const &settings, std::int64_t init_ns,
                  std::string const &path) {
    std::string const record = describe_launch(all.team, plan, all.clock, settings, init_ns);
    on_rank_0(all.team, [&] { write_file(path, record); });
}

} // namespace

int run_launch(std::string const &plan_path, std::int64_t init_ns) {
    Team world = make_first_team(plan_path + ".door");
    Plan const plan = read_plan(world, plan_path);
    for (CellPlan const &cell : plan.cells) { // a plan that cannot be completed is not started
        kernel_named(cell.kernel);
        members_of(cell, world.size);
    }
    make_folders(world, plan);
    std::string const base = plan.folder + "/launches/" + plan.launch;
    Status status(world, base + ".status", base + ".live");
    TimedTeam all(std::move(world), start_named(plan.start), platform::now_ns());
    LibrarySettings const settings = read_settings(all.team, plan);
    write_launch(all, plan, settings, init_ns, base + ".json");

    bool const settled = !all.team.back;
    TimedTeams teams(all);
    std::vector<std::string> const placement = placement_warnings(all.team);
    Launch const launch{plan, all.team, teams, status, placement};
    std::int64_t code = 0;
    for (CellPlan const &cell : plan.cells) {
        constexpr std::int64_t invalid = 3;
        code = run_cell(launch, cell) ? code : invalid;
    }
    if (!settled) {
        write_launch(all, plan, settings, init_ns, base + ".json"); // the clocks were not known before
    }
    // the limit also holds in MPI_Finalize, where a rank that stops would keep the others waiting; written data stays
    platform::arm_watchdog(plan.limit_ns, status.fd(), status.offset());
    return int(max_over(all.team.comm, code)); // ranks that took no part in a wrong cell return the same code
}

} // namespace weft
