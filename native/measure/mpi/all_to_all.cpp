// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/all_to_all.hpp"

#include "common/check.hpp"
#include "mpi/error.hpp"

#include "../../alltoall/choice.hpp"
#include "../../alltoall/error.hpp"
#include "../../alltoall/state.hpp"
#include "../../alltoall/texts.hpp"

#include <stdexcept>
#include <utility>

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

AllToAll AllToAll::by_table(std::string const &path) {
    AllToAll made;
    try {
        made.rules_ = std::make_shared<alltoall::OwnRules>();
        made.table_ = std::make_shared<alltoall::Table const>(
            alltoall::file_text(path, "the selection table", alltoall::most_table_bytes));
    } catch (alltoall::Error const &error) {
        bool const everywhere = error.code() != MPI_ERR_FILE; // a file may be there for some hosts only
        throw Failure(path + ": " + error.what(), "name a table that weft tune wrote", everywhere);
    }
    return made;
}

int AllToAll::calls_to_learn() const noexcept {
    return spec_ != nullptr && spec_->kind == alltoall::Kind::sched_matrix ? 2 : 0;
}

template <class Call> alltoall::Spec const &AllToAll::spec_of(Call const &call) const {
    if (table_ == nullptr) {
        return *spec_;
    }
    int ranks = 1;
    check(PMPI_Comm_size(call.comm, &ranks), "MPI_Comm_size");
    return *alltoall::choose(*table_, call, ++calls_, ranks, *rules_).spec;
}

template <class Call> bool AllToAll::perform(Call const &call) const {
    if (spec_ == nullptr && table_ == nullptr) {
        return false;
    }
    alltoall::Spec const &spec = spec_of(call);
    if (spec.kind == alltoall::Kind::pmpi) {
        return false;
    }
    if (spec.kind == alltoall::Kind::sched_matrix && std::exchange(calls_, calls_ + 1) == 1) {
        if (alltoall::State *const state = alltoall::find_state(call.comm); state != nullptr) {
            state->uneven.due = 0; // of another size: compare counts now
        }
    }
    alltoall::Outcome const outcome = alltoall::perform(call, spec);
    check(outcome.code, "an all-to-all of native/alltoall");
    last_algorithm() = alltoall::algorithms()[std::size_t(outcome.ran)].name;
    return true;
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
    return last_algorithm();
}

void AllToAll::forget() noexcept {
    last_algorithm().clear();
}

} // namespace weft
