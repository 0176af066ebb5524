// SPDX-License-Identifier: BSD-3-Clause
#include "requests.hpp"

#include <algorithm>
#include <mutex>

namespace weft::trace {

std::uint64_t Requests::add(MPI_Request handle, Request request) {
    if (handle == MPI_REQUEST_NULL) {
        return 0;
    }
    std::lock_guard const lock(lock_);
    request.number = request.is_persistent ? 0 : ++started_;
    std::uint64_t const number = request.number;
    known_.emplace(number_of(handle), std::move(request));
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
    auto const found = known_.equal_range(number_of(handle)).first;
    return found == known_.end() || found->first != number_of(handle) ? Request{} : found->second;
}

Request Requests::take(MPI_Request handle) {
    std::lock_guard const lock(lock_);
    auto const [first, last] = known_.equal_range(number_of(handle));
    if (first == last) {
        return {};
    }
    Request taken = first->second;
    if (!taken.is_persistent) {
        known_.erase(first);
    }
    return taken;
}

void Requests::put_back(MPI_Request handle, Request request) {
    std::lock_guard const lock(lock_);
    known_.emplace(number_of(handle), std::move(request));
}

void Requests::cancel(MPI_Request handle) {
    std::lock_guard const lock(lock_);
    auto const [first, last] = known_.equal_range(number_of(handle));
    if (first != last) {
        first->second.is_cancelled = true;
    }
}

void Requests::end(MPI_Request handle, std::uint64_t number) {
    std::lock_guard const lock(lock_);
    auto const [first, last] = known_.equal_range(number_of(handle));
    auto const found = std::find_if(first, last, [&](auto const &each) { return each.second.number == number; });
    if (found == last) {
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
    auto const [first, last] = known_.equal_range(number_of(handle));
    if (first != last) {
        known_.erase(first);
    }
}

void Messages::add(MPI_Message message, Matched matched) {
    std::lock_guard const lock(lock_);
    known_.emplace(number_of(message), std::move(matched));
}

Matched Messages::take(MPI_Message message) {
    std::lock_guard const lock(lock_);
    auto const found = known_.find(number_of(message));
    if (found == known_.end()) {
        return {};
    }
    Matched taken = std::move(found->second);
    known_.erase(found);
    return taken;
}

} // namespace weft::trace
