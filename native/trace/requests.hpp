// SPDX-License-Identifier: BSD-3-Clause
// Requests between their start and their end.
#pragma once

#include "groups.hpp"

#include <mpi.h>

#include <cstring>
#include <unordered_map>

namespace weft::trace {

struct Request {
    std::uint64_t number = 0; // of this start; 0: none
    Record given;             // the call that made it
    GroupPointer group;
    bool is_receive = false;
    bool is_persistent = false;
    bool is_cancelled = false;
};

class Requests {
  public:
    /// A request was made; it is started now unless it is persistent. Returns its number, 0 if not started.
    std::uint64_t add(MPI_Request handle, Request request);
    /// A persistent request is started. Its number is 0 if it is not known.
    Request start(MPI_Request handle);
    /// The first one of this handle. Number 0 if nothing is under way.
    Request find(MPI_Request handle);
    /// As find; another thread that asks for the same handle then gets another one. One that did not end is put back.
    Request take(MPI_Request handle);
    void put_back(MPI_Request handle, Request request);
    void cancel(MPI_Request handle);
    /// The start `number` has ended, if it was not taken.
    void end(MPI_Request handle, std::uint64_t number);
    void forget(MPI_Request handle);

  private:
    SpinLock lock_;
    std::uint64_t started_ = 0;
    /// Several of one handle, first made first: a library gives all messages that it has sent at once the same handle.
    std::unordered_multimap<std::uint64_t, Request> known_;
};

/// A message that a probe has matched: the probe, with what came, and the group that its sender is of.
struct Matched {
    Record probe;
    GroupPointer group; // none: matched by a call that is not traced
};

/// Messages between the probe that matched them and their receive.
class Messages {
  public:
    void add(MPI_Message message, Matched matched);
    /// What the message is, and no longer known: its receive gives the handle back.
    Matched take(MPI_Message message);

  private:
    SpinLock lock_;
    /// Several of one handle: all that are matched without a sender (MPI_PROC_NULL) are one message.
    std::unordered_multimap<std::uint64_t, Matched> known_;
};

/// A handle as a number: a pointer in Open MPI, an int in MPICH.
inline std::uint64_t number_of(auto handle) noexcept {
    std::uint64_t number = 0;
    static_assert(sizeof handle <= sizeof number);
    std::memcpy(&number, &handle, sizeof handle);
    return number;
}

} // namespace weft::trace
