// SPDX-License-Identifier: BSD-3-Clause
// Errors that end a launch or a cell. Each states what happened, with the value seen, and what to do.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace weft {

/// Ends the launch with exit code 1.
class Failure : public std::runtime_error {
  public:
    /// `everywhere`: all ranks throw it, so the launch can end by MPI_Finalize instead of MPI_Abort.
    Failure(std::string const &what, std::string remedy, bool everywhere = false)
        : std::runtime_error(what), remedy_(std::move(remedy)), everywhere_(everywhere) {}

    std::string const &remedy() const noexcept { return remedy_; }
    bool everywhere() const noexcept { return everywhere_; }

  private:
    std::string remedy_;
    bool everywhere_;
};

/// Ends one cell: it becomes a row with this status and reason, and the launch continues with its next cell.
/// All ranks of the team must throw it together (see `refuse_together`), or the others would wait for ever.
class Refusal : public std::runtime_error {
  public:
    Refusal(std::string status, std::string const &reason) : std::runtime_error(reason), status_(std::move(status)) {}

    std::string const &status() const noexcept { return status_; }

  private:
    std::string status_;
};

} // namespace weft
