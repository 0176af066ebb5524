// SPDX-License-Identifier: BSD-3-Clause
#include "launch.hpp"

#include "cell.hpp"
#include "cell_record.hpp"
#include "file.hpp"
#include "kernels.hpp"
#include "memory.hpp"
#include "parties.hpp"
#include "provenance.hpp"
#include "sampler.hpp"
#include "store.hpp"

#include <filesystem>
#include <system_error>

namespace weft {

namespace {

/// What all cells of a launch share.
struct Launch {
    Plan const &plan;
    Team const &world;
    Parties &parties;
    Status &status;
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

/// Swap and steal time are counted by hosts, so one rank of each reads them.
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

/// Guard, kernel, verdict. The measured samples are in the recorder.
void measure(Launch const &launch, Party &party, Cell &cell, Recorder &recorder, Outcome &outcome,
             std::vector<std::string> &warnings) {
    Kernel const &kernel = kernel_named(cell.kernel());
    Sampler sampler(party.team, party.clock, party.start, launch.plan.rules, recorder, launch.status);
    cell.use(sampler);
    try {
        outcome.memory = guard_memory(party.team, kernel.need(cell), launch.plan.memory_limit_bytes);
        if (!outcome.memory.fits) {
            throw Refusal("memory", outcome.memory.reason);
        }
        plant_fault(cell);
        party.clock.begin();
        kernel.run(cell);
        party.clock.end();
        if (cell.validation().errors > 0) {
            outcome.status = "invalid";
            outcome.reason = cell.validation().detail;
        }
    } catch (Refusal const &refusal) {
        outcome.status = refusal.status();
        outcome.reason = refusal.what();
    }
    warnings = cell.warnings();
    warnings.insert(warnings.end(), sampler.warnings().begin(), sampler.warnings().end());
}

/// Collective over the party. False when the result was proven wrong.
bool run_in(Launch const &launch, Party &party, CellPlan const &values) {
    Team const &team = party.team;
    Cell cell(launch.plan, values, team);
    std::int64_t const began = party.clock.now();
    platform::Pressure const before = pressure_of_node(team);

    Recorder recorder;
    Outcome outcome;
    std::vector<std::string> warnings;
    measure(launch, party, cell, recorder, outcome, warnings);
    outcome.pressure = pressure_since(team, before);
    outcome.wall_ns = party.clock.now() - began;

    launch.status.set("-", "-", "writing");
    std::string const path =
        launch.plan.folder + "/cells/" + cell.name() + ".l" + std::to_string(launch.plan.launch_index);
    bool const measured = outcome.status == "ok" || outcome.status == "invalid";
    if (measured) {
        outcome.crcs =
            write_slabs(team, slab_of(recorder, party.clock, party.epoch_ns), path + ".npy", launch.plan.posix_io);
    }
    on_rank_0(team, [&] {
        write_file(path + ".json", describe_cell(launch.plan, cell, outcome, recorder, party.clock, warnings));
    });
    return outcome.status != "invalid";
}

/// Collective over the launch. False when the result was proven wrong, on the ranks that took part.
bool run_cell(Launch const &launch, CellPlan const &values) {
    launch.status.cell(values.name);
    platform::arm_watchdog(launch.plan.limit_ns, launch.status.fd(), launch.status.offset());
    Party *const party = launch.parties.of(values);
    bool right = true;
    if (party == nullptr) {
        launch.status.set("-", "waiting", "for-others"); // the watchdog keeps all but the last word
    } else {
        try {
            right = run_in(launch, *party, values);
        } catch (Failure const &failure) {
            // What all of a part throw together is still unknown to those who wait for them.
            bool const everywhere = failure.everywhere() && party->team.size == launch.world.size;
            throw Failure(failure.what(), failure.remedy(), everywhere);
        }
    }
    if (!members_of(values, launch.world.size).empty()) {
        launch.parties.gather(party);
    }
    launch.status.set("-", "-", "done");
    return right;
}

} // namespace

int run_launch(std::string const &plan_path) {
    Team world = make_team(MPI_COMM_WORLD);
    Plan const plan = read_plan(world.comm, plan_path);
    for (CellPlan const &cell : plan.cells) { // a plan that cannot be run to its end is not begun
        kernel_named(cell.kernel);
        members_of(cell, world.size);
    }
    make_folders(world, plan);
    std::string const base = plan.folder + "/launches/" + plan.launch;
    Status status(world, base + ".status");
    Party all(std::move(world), start_named(plan.start), platform::now_ns());
    std::string const record = describe_launch(all.team, plan, all.clock);
    on_rank_0(all.team, [&] { write_file(base + ".json", record); });

    Parties parties(all);
    Launch const launch{plan, all.team, parties, status};
    std::int64_t code = 0;
    for (CellPlan const &cell : plan.cells) {
        constexpr std::int64_t invalid = 3;
        code = run_cell(launch, cell) ? code : invalid;
    }
    platform::disarm_watchdog();
    return int(max_over(all.team.comm, code)); // who took no part in a wrong cell says so, too
}

} // namespace weft
