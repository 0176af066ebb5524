// SPDX-License-Identifier: BSD-3-Clause
#include "session.hpp"

#include "call.hpp"
#include "error.hpp"
#include "mark.hpp"
#include "texts.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace weft::interpose {

namespace {

using alltoall::Error;

int own_rank() {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

__attribute__((constructor)) void loaded() {
    leave_mark(mark_loaded);
}

/// Rank 0's variable of the environment, on all ranks; empty if it is unset.
std::string variable(char const *name) {
    char const *const value = std::getenv(name);
    return alltoall::broadcast(value == nullptr ? "" : value, MPI_COMM_WORLD);
}

} // namespace

Session &session() {
    static Session one;
    return one;
}

void Session::begin() {
    if (begun_) {
        return;
    }
    begun_ = true;
    leave_mark(mark_begun);
    try {
        configure();
        active_ = true;
        if (reporting()) {
            report_.begin(report_path_, MPI_COMM_WORLD);
        }
        if (prewarm_) {
            prewarm();
        }
    } catch (std::exception const &error) {
        if (own_rank() == 0) {
            std::fprintf(stderr, "%s\n", error.what());
        }
        PMPI_Barrier(MPI_COMM_WORLD); // the others must not end the job before this is printed
        PMPI_Abort(MPI_COMM_WORLD, 2);
    }
}

void Session::configure() {
    if (std::string const spec = variable("WEFT_ALLTOALL"); !spec.empty()) {
        forced_ = alltoall::parse_spec(spec);
    }
    if (std::string const path = variable("WEFT_TABLE"); !path.empty()) {
        table_.emplace(
            alltoall::broadcast_file(path, "the selection table", alltoall::most_table_bytes, MPI_COMM_WORLD));
    }
    report_path_ = variable("WEFT_REPORT");
    std::string const warm = variable("WEFT_PREWARM"), every = variable("WEFT_VERIFY");
    prewarm_ = warm == "1";
    if (!prewarm_ && !warm.empty() && warm != "0") {
        throw Error(MPI_ERR_ARG,
                    "weft: WEFT_PREWARM is " + alltoall::shown(warm) + " -> set it to 1, or leave it unset");
    }
    auto const [end, error] = std::from_chars(every.data(), every.data() + every.size(), verify_every_);
    if (!every.empty() && (error != std::errc() || *end != 0 || verify_every_ < 1)) {
        throw Error(MPI_ERR_ARG,
                    "weft: WEFT_VERIFY is " + alltoall::shown(every) + " -> give a whole number: every how many calls");
    }
}

void Session::prewarm() {
    int ranks = 1;
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::vector<char> send(std::size_t(ranks), 0), receive(std::size_t(ranks), 0);
    alltoall::AlltoallCall<int> const call{send.data(), 1, MPI_CHAR, receive.data(), 1, MPI_CHAR, MPI_COMM_WORLD};
    // a small window: some adapters open connections slowly, and many at once even more slowly
    alltoall::perform(call, alltoall::parse_spec("flat.window{w=4,order=node-rotated}"));
}

void Session::end() {
    if (!active_ || ended_) {
        return;
    }
    ended_ = true;
    active_ = false;
    if (!report_path_.empty()) {
        report_.write(report_path_, MPI_COMM_WORLD);
    }
}

} // namespace weft::interpose
