// SPDX-License-Identifier: BSD-3-Clause
#include "requests.hpp"

#include <mutex>

namespace weft::trace {

std::uint64_t Requests::add(MPI_Request handle, Request request) {
    if (handle == MPI_REQUEST_NULL) {
        return 0;
    }
    std::lock_guard const lock(lock_);
    request.number = request.is_persistent ? 0 : ++started_;
    std::uint64_t const number = request.number;
    known_[number_of(handle)] = std::move(request);
    return number;
}

Request Requests::start(MPI_Request handle) {
    std::lock_guard const lock(lock_);
    auto const found = known_.find(number_of(handle));
    if (found == known_.end()) {
        return {};
    }
    found->second.number = ++started_;
    found->second.is_cancelled = false;
    return found->second;
}

Request Requests::find(MPI_Request handle) {
    std::lock_guard const lock(lock_);
    auto const found = known_.find(number_of(handle));
    return found == known_.end() ? Request{} : found->second;
}

void Requests::cancel(MPI_Request handle) {
    std::lock_guard const lock(lock_);
    auto const found = known_.find(number_of(handle));
    if (found != known_.end()) {
        found->second.is_cancelled = true;
    }
}

void Requests::end(MPI_Request handle, std::uint64_t number) {
    std::lock_guard const lock(lock_);
    auto const found = known_.find(number_of(handle));
    if (found == known_.end() || found->second.number != number) {
        return;
    }
    if (found->second.is_persistent) {
        found->second.number = 0;
    } else {
        known_.erase(found);
    }
}

void Requests::forget(MPI_Request handle) {
    std::lock_guard const lock(lock_);
    known_.erase(number_of(handle));
}

} // namespace weft::trace
