// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/team.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

/// A new folder that all ranks of a test share; removed with the object.
class ScratchFolder {
  public:
    explicit ScratchFolder(weft::Team const &team) : team_(team) {
        if (team.rank == 0) {
            std::string const name = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
            std::copy(name.begin(), name.end(), path_.begin());
            if (mkdtemp(path_.data()) == nullptr) {
                std::perror("mkdtemp");
                std::abort();
            }
        }
        PMPI_Bcast(path_.data(), int(path_.size()), MPI_CHAR, 0, team.comm);
    }
    ScratchFolder(ScratchFolder const &) = delete;
    ScratchFolder &operator=(ScratchFolder const &) = delete;
    ~ScratchFolder() {
        PMPI_Barrier(team_.comm);
        if (team_.rank == 0) {
            std::error_code ignored;
            std::filesystem::remove_all(path_.data(), ignored);
        }
    }
    std::string path() const { return path_.data(); }

  private:
    weft::Team const &team_;
    std::array<char, 256> path_{};
};
