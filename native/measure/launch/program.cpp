// SPDX-License-Identifier: BSD-3-Clause
#include "launch/program.hpp"

#include "cell/node_report.hpp"
#include "host/platform.hpp"
#include "host/settings.hpp"
#include "host/shared_memory.hpp"
#include "launch/launch.hpp"
#include "launch/provenance.hpp"
#include "mpi/error.hpp"
#include "mpi/handles.hpp"

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <string>

namespace {

constexpr char const *usage = "usage: weft-measure PLAN | --version | --settings\n";

void print_error(std::string const &what, std::string const &remedy) {
    std::fprintf(stderr, "weft-measure: error: %s\n%s%s%s", what.c_str(), remedy.empty() ? "" : "  -> ", remedy.c_str(),
                 remedy.empty() ? "" : "\n");
}

/// Hydra (MPICH) discards unread output of a rank when it is notified of an abort.
constexpr std::int64_t read_by_then_ns = 200'000'000;

/// A failure of this rank alone: the others wait for it, so the launch cannot end by MPI_Finalize.
int abort_launch(std::string const &what, std::string const &remedy) {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    print_error("rank " + std::to_string(rank) + ": " + what, remedy);
    weft::platform::sleep_ns(read_by_then_ns);
    PMPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
}

void print_settings() {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        std::fputs(weft::to_lines(weft::all_settings()).c_str(), stdout);
    }
}

int run(std::string const &plan, std::int64_t init_ns) {
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    try {
        return weft::run_launch(plan, init_ns);
    } catch (weft::Failure const &failure) {
        if (!failure.everywhere()) {
            return abort_launch(failure.what(), failure.remedy());
        }
        int rank = 0;
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank == 0) {
            print_error(failure.what(), failure.remedy());
        }
        return 1;
    } catch (std::bad_alloc const &) {
        return abort_launch("out of memory", "ask for less n or m, or fewer samples");
    } catch (std::exception const &error) {
        return abort_launch(error.what(), "");
    }
}

} // namespace

int weft::run_program(int argc, char **argv) {
    std::string const what = argc == 2 ? argv[1] : "";
    if (what.empty()) {
        std::fputs(usage, stderr);
        return 1;
    }
    if (what == "--version") {
        std::printf("%s\n", weft::library_version().c_str());
        return 0;
    }
    // Ranks that outlive a killed launcher would use cores on which others measure.
    if (!weft::platform::die_with_parent()) {
        print_error("the launcher ended before this rank began", "start the run again");
        return 1;
    }
    std::timespec date{};
    std::timespec_get(&date, TIME_UTC);
    std::int64_t const began_ns = weft::platform::now_ns();
    weft::Library const library(argc, argv);
    std::int64_t const init_ns = weft::platform::now_ns() - began_ns;
    weft::note_start(date.tv_sec * std::int64_t{1'000'000'000} + date.tv_nsec, began_ns, init_ns);
    if (what == "--settings") {
        print_settings();
        return 0;
    }
    weft::note_shared_memory();
    return run(what, init_ns);
}
