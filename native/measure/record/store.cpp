// SPDX-License-Identifier: BSD-3-Clause
#include "record/store.hpp"

#include "common/crc32.hpp"
#include "host/file.hpp"
#include "host/platform.hpp"
#include "mpi/count.hpp"
#include "mpi/error.hpp"
#include "record/hash.hpp"

#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <random>
#include <span>

namespace weft {

static_assert(std::endian::native == std::endian::little, "records are little-endian and are written as they stand");

namespace {

constexpr int slab_tag = 11;
constexpr char const *slab_rows = "samples of a rank";

/// Collective: throws on all ranks if an MPI-IO call failed on any.
void agree(Team const &team, int code, char const *call) {
    std::string mine;
    if (code != MPI_SUCCESS) {
        mine = words_of(code, call);
    }
    if (max_over(team.comm, mine.empty() ? 0 : 1) != 0) {
        throw Failure(
            mine.empty() ? std::string(call) + " failed on another rank" : mine,
            "examine the file system of the run folder; `io = \"posix\"` in the study's [measure] does without MPI-IO",
            true);
    }
}

/// MPI_File_close is collective: it is called on every exit path.
class OpenFile {
  public:
    OpenFile(Team const &team, std::string const &path) {
        int const code = PMPI_File_open(team.comm, path.c_str(), MPI_MODE_WRONLY, MPI_INFO_NULL, &file_);
        agree(team, code, "MPI_File_open");
        PMPI_File_set_errhandler(file_, MPI_ERRORS_RETURN);
    }
    OpenFile(OpenFile const &) = delete;
    OpenFile &operator=(OpenFile const &) = delete;
    ~OpenFile() {
        if (file_ != MPI_FILE_NULL) {
            PMPI_File_close(&file_);
        }
    }
    MPI_File get() const { return file_; }
    int close() { return PMPI_File_close(&file_); }

  private:
    MPI_File file_ = MPI_FILE_NULL;
};

/// From rank 0, the same on all ranks: 16 digits unique to user, run and launch. Open MPI (OMPIO) names a semaphore in
/// /dev/shm after the file name without its folder, and one left by another user's killed run would abort this one.
std::string mark_of(Team const &team) {
    std::uint64_t mark = 0;
    if (team.rank == 0) {
        std::random_device chance;
        mark = mix(std::uint64_t(platform::now_ns())) ^ std::uint64_t(chance()) << 32 ^ chance();
    }
    check(PMPI_Bcast(&mark, 1, MPI_UINT64_T, 0, team.comm), "MPI_Bcast of a mark");
    constexpr std::size_t digits = 16;
    std::array<char, digits + 1> text{};
    std::snprintf(text.data(), text.size(), "%016" PRIx64, mark);
    return text.data();
}

void write_by_mpi(Team const &team, std::vector<Row> const &slab, std::string const &path, std::int64_t header) {
    Datatype const row = Datatype::contiguous(3, MPI_INT64_T);
    MPI_Offset const at = header + MPI_Offset(team.rank) * MPI_Offset(slab.size() * sizeof(Row));
    OpenFile file(team, path);
    agree(team,
          PMPI_File_write_at_all(file.get(), at, slab.data(), to_count(slab.size(), slab_rows), row, MPI_STATUS_IGNORE),
          "MPI_File_write_at_all");
    agree(team, PMPI_File_sync(file.get()), "MPI_File_sync");
    agree(team, file.close(), "MPI_File_close");
}

/// Rank 0 requests one slab after another, so that they need not fit into its memory together.
void write_by_rank_0(Team const &team, std::vector<Row> const &slab, PartFile *file) {
    Datatype const row = Datatype::contiguous(3, MPI_INT64_T);
    char token = 0;
    if (team.rank != 0) {
        check(PMPI_Recv(&token, 1, MPI_CHAR, 0, slab_tag, team.comm, MPI_STATUS_IGNORE), "MPI_Recv of a turn");
        check(PMPI_Send(slab.data(), to_count(slab.size(), slab_rows), row, 0, slab_tag, team.comm),
              "MPI_Send of a slab");
    }
    on_rank_0(team, [&] {
        std::optional<Failure> failure;
        std::vector<Row> theirs(slab.size());
        for (int rank = 0; rank < team.size; ++rank) {
            if (rank > 0) {
                check(PMPI_Send(&token, 1, MPI_CHAR, rank, slab_tag, team.comm), "MPI_Send of a turn");
                check(PMPI_Recv(theirs.data(), to_count(theirs.size(), slab_rows), row, rank, slab_tag, team.comm,
                                MPI_STATUS_IGNORE),
                      "MPI_Recv of a slab");
            }
            try {
                if (!failure) {
                    file->write(std::as_bytes(std::span(rank > 0 ? theirs : slab)));
                }
            } catch (Failure const &first) {
                failure = first; // the other ranks still have to send their slabs
            }
        }
        if (failure) {
            throw Failure(*failure);
        }
    });
}

std::vector<std::uint32_t> gather_crcs(Team const &team, std::vector<Row> const &slab) {
    std::uint32_t const mine = crc32(std::as_bytes(std::span(slab)));
    std::vector<std::uint32_t> all(team.rank == 0 ? std::size_t(team.size) : 0);
    check(PMPI_Gather(&mine, 1, MPI_UINT32_T, all.data(), 1, MPI_UINT32_T, 0, team.comm), "MPI_Gather of checksums");
    return all;
}

/// On rank 0: reads the file back, since MPI-IO libraries have been seen to report success on a full disk.
void verify(PartFile const &file, std::string const &header, std::size_t slab_bytes,
            std::vector<std::uint32_t> const &crcs) {
    auto const expected = std::int64_t(header.size() + slab_bytes * crcs.size());
    if (file.size() != expected) {
        throw Failure(file.part() + " has " + std::to_string(file.size()) + " bytes instead of " +
                          std::to_string(expected),
                      "examine the space on the file system of the run folder; then start the same run again");
    }
    std::vector<std::byte> chunk(std::size_t(1) << 20);
    std::int64_t offset = std::int64_t(header.size());
    for (std::size_t rank = 0; rank < crcs.size(); ++rank) {
        std::uint32_t crc = 0;
        for (std::size_t left = slab_bytes; left > 0;) {
            std::span<std::byte> const part = std::span(chunk).first(std::min(chunk.size(), left));
            file.read(offset, part);
            crc = crc32(part, crc);
            offset += std::int64_t(part.size());
            left -= part.size();
        }
        if (crc != crcs[rank]) {
            throw Failure(file.part() + ": what rank " + std::to_string(rank) + " wrote does not read back",
                          "`io = \"posix\"` in the study's [measure] does without MPI-IO");
        }
    }
}

} // namespace

std::string npy_header(std::int64_t ranks, std::int64_t samples) {
    std::string text = "{'descr': '<i8', 'fortran_order': False, 'shape': (" + std::to_string(ranks) + ", " +
                       std::to_string(samples) + ", 3), }";
    constexpr std::size_t before = 10; // magic, version, length
    std::size_t const whole = (before + text.size() + 1 + 63) / 64 * 64;
    text.resize(whole - before - 1, ' ');
    text += '\n';
    std::string header = "\x93NUMPY";
    header += {'\x01', '\x00', char(text.size() & 0xff), char(text.size() >> 8)};
    return header + text;
}

std::vector<Row> slab_of(Recorder const &recorder, Clock const &clock, std::int64_t epoch_ns) {
    std::vector<Row> slab;
    slab.reserve(std::size_t(recorder.count()));
    for (Segment const &segment : recorder.segments()) {
        for (Row row : std::span(segment.rows).first(std::size_t(segment.count))) {
            std::int64_t const global =
                segment.line ? row.start_ns + segment.line->at(row.start_ns) : clock.global(row.start_ns);
            row.start_ns = global - epoch_ns;
            slab.push_back(row);
        }
    }
    return slab;
}

std::vector<std::uint32_t> write_slabs(Team const &team, std::vector<Row> const &slab, std::string const &path,
                                       bool posix) {
    std::string const header = npy_header(team.size, std::int64_t(slab.size()));
    std::size_t const slab_bytes = slab.size() * sizeof(Row);
    std::string const mark = posix ? "" : mark_of(team);
    std::optional<PartFile> file;
    on_rank_0(team, [&] {
        file.emplace(path, mark);
        file->reserve(std::int64_t(header.size() + slab_bytes * std::size_t(team.size)));
        file->write(header);
    });
    if (posix) {
        write_by_rank_0(team, slab, file ? &*file : nullptr);
    } else {
        on_rank_0(team, [&] { file->close(); });
        write_by_mpi(team, slab, path + "." + mark + ".part", std::int64_t(header.size()));
        on_rank_0(team, [&] { file->reopen(); });
    }
    std::vector<std::uint32_t> crcs = gather_crcs(team, slab);
    on_rank_0(team, [&] {
        verify(*file, header, slab_bytes, crcs);
        file->publish();
    });
    return crcs;
}

} // namespace weft
