// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/all_to_all.hpp"

#include "common/check.hpp"
#include "mpi/error.hpp"
#include "mpi/own_all_to_all.hpp"

#include "../../alltoall/call.hpp"

#include <stdexcept>

namespace weft {

// Programs without the room `own` have neither.
[[gnu::weak]] std::shared_ptr<OwnAllToAll const> own_by_spec(std::string_view spec);
[[gnu::weak]] std::shared_ptr<OwnAllToAll const> own_by_table(std::string const &path);

namespace {

/// `make`: one of the two.
template <class Make, class Argument> std::shared_ptr<OwnAllToAll const> own(Make *make, Argument const &argument) {
    if (make == nullptr) {
        throw Failure("this weft-measure has none of Weft's own all-to-alls",
                      "start the study again: `weft run` builds the program with them", true);
    }
    return make(argument);
}

} // namespace

std::string &OwnAllToAll::last_algorithm() noexcept {
    static std::string name;
    return name;
}

AllToAll::AllToAll(std::string_view spec) {
    if (!spec.empty() && spec != "default" && spec != "pmpi") {
        own_ = own(own_by_spec, spec);
    }
}

AllToAll AllToAll::by_table(std::string const &path) {
    AllToAll made;
    made.own_ = own(own_by_table, path);
    return made;
}

int AllToAll::calls_to_learn() const noexcept {
    return own_ == nullptr ? 0 : own_->calls_to_learn();
}

template <class Call> bool AllToAll::perform(Call const &call) const {
    return own_ != nullptr && own_->perform(call, calls_);
}

void AllToAll::alltoall(void const *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count,
                        MPI_Datatype receive_type, MPI_Comm comm) const {
    alltoall::AlltoallCall<int> const call{send, send_count, send_type, receive, receive_count, receive_type, comm};
    if (!perform(call)) {
        check(MPI_Alltoall(send, send_count, send_type, receive, receive_count, receive_type, comm), "MPI_Alltoall");
    }
}

void AllToAll::alltoallv(void const *send, int const *send_counts, int const *send_places, MPI_Datatype send_type,
                         void *receive, int const *receive_counts, int const *receive_places, MPI_Datatype receive_type,
                         MPI_Comm comm) const {
    alltoall::AlltoallvCall<int, int> const call{send,           send_counts,    send_places,  send_type, receive,
                                                 receive_counts, receive_places, receive_type, comm};
    if (!perform(call)) {
        check(MPI_Alltoallv(send, send_counts, send_places, send_type, receive, receive_counts, receive_places,
                            receive_type, comm),
              "MPI_Alltoallv");
    }
}

void AllToAll::alltoall(void const *send, MPI_Count send_count, MPI_Datatype send_type, void *receive,
                        MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm) const {
    if (perform(alltoall::AlltoallCall<MPI_Count>{send, send_count, send_type, receive, receive_count, receive_type,
                                                  comm})) {
        return;
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
    if (perform(alltoall::AlltoallvCall<MPI_Count, MPI_Aint>{send, send_counts, send_places, send_type, receive,
                                                             receive_counts, receive_places, receive_type, comm})) {
        return;
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
    return OwnAllToAll::last_algorithm();
}

void AllToAll::forget() noexcept {
    OwnAllToAll::last_algorithm().clear();
}

} // namespace weft
