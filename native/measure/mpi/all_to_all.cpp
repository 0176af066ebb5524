// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/all_to_all.hpp"

#include "mpi/check.hpp"
#include "mpi/error.hpp"

#include "../../alltoall/call.hpp"

#include <stdexcept>

namespace weft {

namespace {

std::string &last_algorithm() noexcept {
    static std::string name;
    return name;
}

} // namespace

AllToAll::AllToAll(std::string_view spec) {
    if (spec.empty() || spec == "default" || spec == "pmpi") {
        return;
    }
    try {
        spec_ = std::make_shared<alltoall::Spec const>(alltoall::parse_spec(spec));
    } catch (std::runtime_error const &error) {
        throw Failure(error.what(), "change algorithm in the study", true);
    }
}

template <class Call> void AllToAll::perform(Call const &call, char const *what) const {
    alltoall::Outcome const outcome = alltoall::perform(call, *spec_);
    check(outcome.code, what);
    last_algorithm() = alltoall::algorithms()[std::size_t(outcome.ran)].name;
}

void AllToAll::alltoall(void const *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count,
                        MPI_Datatype receive_type, MPI_Comm comm) const {
    if (spec_ == nullptr) {
        return check(MPI_Alltoall(send, send_count, send_type, receive, receive_count, receive_type, comm),
                     "MPI_Alltoall");
    }
    perform(alltoall::AlltoallCall<int>{send, send_count, send_type, receive, receive_count, receive_type, comm},
            "an all-to-all of native/alltoall");
}

void AllToAll::alltoallv(void const *send, int const *send_counts, int const *send_places, MPI_Datatype send_type,
                         void *receive, int const *receive_counts, int const *receive_places, MPI_Datatype receive_type,
                         MPI_Comm comm) const {
    if (spec_ == nullptr) {
        return check(MPI_Alltoallv(send, send_counts, send_places, send_type, receive, receive_counts, receive_places,
                                   receive_type, comm),
                     "MPI_Alltoallv");
    }
    perform(alltoall::AlltoallvCall<int, int>{send, send_counts, send_places, send_type, receive, receive_counts,
                                              receive_places, receive_type, comm},
            "an all-to-all of native/alltoall");
}

void AllToAll::alltoall(void const *send, MPI_Count send_count, MPI_Datatype send_type, void *receive,
                        MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm) const {
    if (spec_ != nullptr) {
        return perform(
            alltoall::AlltoallCall<MPI_Count>{send, send_count, send_type, receive, receive_count, receive_type, comm},
            "an all-to-all of native/alltoall");
    }
#if MPI_VERSION >= 4
    check(MPI_Alltoall_c(send, send_count, send_type, receive, receive_count, receive_type, comm), "MPI_Alltoall_c");
#else
    throw std::logic_error("wide counts need MPI 4, and the refusal was not asked");
#endif
}

void AllToAll::alltoallv(void const *send, MPI_Count const *send_counts, MPI_Aint const *send_places,
                         MPI_Datatype send_type, void *receive, MPI_Count const *receive_counts,
                         MPI_Aint const *receive_places, MPI_Datatype receive_type, MPI_Comm comm) const {
    if (spec_ != nullptr) {
        return perform(alltoall::AlltoallvCall<MPI_Count, MPI_Aint>{send, send_counts, send_places, send_type, receive,
                                                                    receive_counts, receive_places, receive_type, comm},
                       "an all-to-all of native/alltoall");
    }
#if MPI_VERSION >= 4
    check(MPI_Alltoallv_c(send, send_counts, send_places, send_type, receive, receive_counts, receive_places,
                          receive_type, comm),
          "MPI_Alltoallv_c");
#else
    throw std::logic_error("a wide block table needs MPI 4: BlockTable::refusal() was not asked");
#endif
}

std::string const &AllToAll::ran() noexcept {
    return last_algorithm();
}

void AllToAll::forget() noexcept {
    last_algorithm().clear();
}

} // namespace weft
