// SPDX-License-Identifier: BSD-3-Clause
#include "launch.hpp"

#include "barrier.hpp"
#include "cell.hpp"
#include "cell_record.hpp"
#include "file.hpp"
#include "kernels.hpp"
#include "memory.hpp"
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
    Clock &clock;
    Barrier &start;
    Status &status;
    std::int64_t epoch_ns;
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
void measure(Launch const &launch, Cell &cell, Recorder &recorder, Outcome &outcome,
             std::vector<std::string> &warnings) {
    Kernel const &kernel = kernel_named(cell.kernel());
    Sampler sampler(launch.world, launch.clock, launch.start, launch.plan.rules, recorder, launch.status);
    cell.use(sampler);
    try {
        outcome.memory = guard_memory(launch.world, kernel.need(cell), launch.plan.memory_limit_bytes);
        if (!outcome.memory.fits) {
            throw Refusal("memory", outcome.memory.reason);
        }
        plant_fault(cell);
        launch.clock.begin();
        kernel.run(cell);
        launch.clock.end();
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

/// False when the result was proven wrong.
bool run_cell(Launch const &launch, CellPlan const &values) {
    Team const &world = launch.world;
    Cell cell(launch.plan, values, world);
    launch.status.cell(cell.name());
    platform::arm_watchdog(launch.plan.limit_ns, launch.status.fd(), launch.status.offset());
    std::int64_t const began = launch.clock.now();
    platform::Pressure const before = pressure_of_node(world);

    Recorder recorder;
    Outcome outcome;
    std::vector<std::string> warnings;
    measure(launch, cell, recorder, outcome, warnings);
    outcome.pressure = pressure_since(world, before);
    outcome.wall_ns = launch.clock.now() - began;

    launch.status.set("-", "-", "writing");
    std::string const path =
        launch.plan.folder + "/cells/" + cell.name() + ".l" + std::to_string(launch.plan.launch_index);
    bool const measured = outcome.status == "ok" || outcome.status == "invalid";
    if (measured) {
        outcome.crcs =
            write_slabs(world, slab_of(recorder, launch.clock, launch.epoch_ns), path + ".npy", launch.plan.posix_io);
    }
    on_rank_0(world, [&] {
        write_file(path + ".json", describe_cell(launch.plan, cell, outcome, recorder, launch.clock, warnings));
    });
    launch.status.set("-", "-", "done");
    return outcome.status != "invalid";
}

} // namespace

int run_launch(std::string const &plan_path) {
    Team const world = make_team(MPI_COMM_WORLD);
    Plan const plan = read_plan(world.comm, plan_path);
    for (CellPlan const &cell : plan.cells) {
        kernel_named(cell.kernel); // a plan that cannot be run to its end is not begun
    }
    make_folders(world, plan);
    std::string const base = plan.folder + "/launches/" + plan.launch;
    Status status(world, base + ".status");
    Clock clock(world);
    std::int64_t epoch_ns = clock.now();
    check(PMPI_Bcast(&epoch_ns, 1, MPI_INT64_T, 0, world.comm), "MPI_Bcast of the launch's epoch");
    std::string const record = describe_launch(world, plan, clock);
    on_rank_0(world, [&] { write_file(base + ".json", record); });
    Barrier start(world, clock, start_named(plan.start));

    Launch const launch{plan, world, clock, start, status, epoch_ns};
    int code = 0;
    for (CellPlan const &cell : plan.cells) {
        constexpr int invalid = 3;
        code = run_cell(launch, cell) ? code : invalid;
    }
    platform::disarm_watchdog();
    return code;
}

} // namespace weft
