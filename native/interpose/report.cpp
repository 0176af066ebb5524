// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include "common/json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace weft::interpose {

namespace {

void merge(Sums &into, Sums const &from) {
    into.calls += from.calls;
    into.seconds = std::max(into.seconds, from.seconds);
    into.verified += from.verified;
    into.different += from.different;
    into.verified_seconds = std::max(into.verified_seconds, from.verified_seconds);
    into.library_seconds = std::max(into.library_seconds, from.library_seconds);
}

/// The texts of all ranks, on rank 0.
std::string gathered(std::string const &mine, MPI_Comm comm) {
    int rank = 0, ranks = 1, size = int(mine.size());
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    std::vector<int> sizes(std::size_t(ranks), 0), places(std::size_t(ranks), 0);
    PMPI_Gather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, comm);
    int sum = 0;
    for (int i = 0; i < ranks; ++i) {
        places[std::size_t(i)] = sum;
        sum += sizes[std::size_t(i)];
    }
    std::string all(std::size_t(sum), ' ');
    PMPI_Gatherv(mine.data(), size, MPI_CHAR, all.data(), sizes.data(), places.data(), MPI_CHAR, 0, comm);
    return all;
}

/// Calls of a communicator, from calls of its ranks. MPI_Alltoallv may be of another size class on each rank, which
/// then counts it in another line: a line has its share of such a call, and the lines together the whole.
double by_communicator(std::int64_t by_ranks, int ranks) {
    return double(by_ranks) / double(std::max(ranks, 1));
}

/// A line and its sums. The time saved by all calls is as far as those that were verified tell; null if none was.
void write_line(Json &out, Line const &line, Sums const &sums) {
    double const saved = (sums.library_seconds - sums.verified_seconds) * double(sums.calls) / double(sums.verified);
    out.begin_object().member("op", line.op).member("algorithm", line.algorithm);
    out.member("ranks", line.ranks).member("nodes", line.nodes).member("bytes_per_pair_at_most", line.bytes);
    out.member("calls", by_communicator(sums.calls, line.ranks)).member("seconds", sums.seconds);
    out.member("verified", by_communicator(sums.verified, line.ranks)).member("different", sums.different);
    out.member("verified_seconds", sums.verified_seconds).member("library_seconds", sums.library_seconds);
    out.member("saved_seconds", sums.verified == 0 ? NAN : saved).end_object();
}

/// Sums the lines of all ranks: intercepted calls by their properties, passed calls by name; of agreements the most of
/// a rank.
void add_up(std::string const &text, std::map<Line, Sums> &lines, std::map<std::string, std::int64_t> &passed,
            Agreements &most) {
    std::istringstream all(text);
    for (std::string kind; all >> kind;) {
        if (kind == "call") {
            Line line;
            Sums sums;
            all >> line.op >> line.algorithm >> line.ranks >> line.nodes >> line.bytes >> sums.calls >> sums.seconds >>
                sums.verified >> sums.different >> sums.verified_seconds >> sums.library_seconds;
            merge(lines[line], sums);
        } else if (kind == "agree") {
            Agreements one;
            all >> one.count >> one.seconds;
            most = {std::max(most.count, one.count), std::max(most.seconds, one.seconds)};
        } else {
            std::string name;
            std::int64_t count = 0;
            all >> name >> count;
            passed[name] += count;
        }
    }
}

/// On rank 0: the file is there as a whole or not at all.
void write_whole(std::string const &path, MPI_Comm comm, bool complete, std::map<Line, Sums> const &lines,
                 std::map<std::string, std::int64_t> const &passed, Agreements const &agreements) {
    int rank = 0, ranks = 1;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
    std::error_code none;
    bool const plain = !std::filesystem::exists(path, none) || std::filesystem::is_regular_file(path, none);
    if (rank != 0 || (!plain && !complete)) { // a pipe or a terminal gets the report alone
        return;
    }
    std::string const part = plain ? path + ".part" : path;
    Json json;
    json.begin_object().member("schema", "weft-report/1").member("ranks", ranks).member("complete", complete);
    json.key("calls").begin_array();
    for (auto const &[line, sums] : lines) {
        write_line(json, line, sums);
    }
    json.end_array().key("agreements_on_sizes").begin_object();
    json.member("count", agreements.count).member("seconds", agreements.seconds).end_object();
    json.key("passed_through_by_ranks").begin_object(); // a non-blocking call may be on any communicator
    for (auto const &[name, count] : passed) {
        json.member(name, count);
    }
    std::ofstream out(part);
    out << json.end_object().end_object().text() << '\n';
    out.close();
    if (!out || (plain && std::rename(part.c_str(), path.c_str()) != 0)) {
        std::fprintf(stderr,
                     "weft: the report cannot be written to %s -> set WEFT_REPORT to a path that rank 0 can write\n",
                     path.c_str());
    }
}

} // namespace

std::int64_t size_class(std::int64_t bytes) noexcept {
    std::int64_t made = bytes == 0 ? 0 : 1;
    while (made < bytes && made < std::int64_t(1) << 62) {
        made *= 2;
    }
    return made;
}

void Report::add(Line const &line, Sums const &sums) {
    std::lock_guard const lock(guard_);
    Sums &into = lines_[line];
    into.calls += sums.calls;
    into.seconds += sums.seconds;
    into.verified += sums.verified;
    into.different += sums.different;
    into.verified_seconds += sums.verified_seconds;
    into.library_seconds += sums.library_seconds;
}

void Report::pass(char const *name) {
    std::lock_guard const lock(guard_);
    ++passed_[name];
}

void Report::agree(double seconds) {
    std::lock_guard const lock(guard_);
    agreements_.count += 1;
    agreements_.seconds += seconds;
}

std::string Report::to_text() const {
    std::ostringstream text;
    text.precision(17);
    for (auto const &[line, sums] : lines_) {
        text << "call " << line.op << ' ' << line.algorithm << ' ' << line.ranks << ' ' << line.nodes << ' '
             << line.bytes << ' ' << sums.calls << ' ' << sums.seconds << ' ' << sums.verified << ' ' << sums.different
             << ' ' << sums.verified_seconds << ' ' << sums.library_seconds << '\n';
    }
    for (auto const &[name, count] : passed_) {
        text << "pass " << name << ' ' << count << '\n';
    }
    text << "agree " << agreements_.count << ' ' << agreements_.seconds << '\n';
    return text.str();
}

void Report::begin(std::string const &path, MPI_Comm comm) const {
    write_whole(path, comm, false, {}, {}, {});
}

void Report::write(std::string const &path, MPI_Comm comm) const {
    std::string const text = gathered(to_text(), comm);
    std::map<Line, Sums> lines;
    std::map<std::string, std::int64_t> passed;
    Agreements agreements;
    add_up(text, lines, passed, agreements);
    write_whole(path, comm, true, lines, passed, agreements);
}

} // namespace weft::interpose
