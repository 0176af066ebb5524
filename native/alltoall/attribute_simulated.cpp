// SPDX-License-Identifier: BSD-3-Clause
// States as attributes of communicators, in SMPI. All ranks are one process and may share the handle of a communicator:
// an attribute has the states of all its ranks. What is left at MPI_Finalize ends with the process.
#include "state.hpp"

#include <simgrid/s4u.hpp>

#include <memory>

namespace weft::alltoall {

namespace {

using States = std::map<long, std::unique_ptr<State>>; // by the number of the rank's actor

int live = 0;

extern "C" int free_states(MPI_Comm, int, void *value, void *) {
    std::unique_ptr<States> const states(static_cast<States *>(value));
    live -= int(states->size());
    return MPI_SUCCESS;
}

int state_key() {
    static int key = MPI_KEYVAL_INVALID; // no rank runs before this one waits, and it does not wait here
    if (key == MPI_KEYVAL_INVALID) {
        check(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_states, &key, nullptr), "MPI_Comm_create_keyval");
    }
    return key;
}

States *states_of(MPI_Comm user) {
    void *value = nullptr;
    int found = 0;
    check(PMPI_Comm_get_attr(user, state_key(), static_cast<void *>(&value), &found), "MPI_Comm_get_attr");
    return found != 0 ? static_cast<States *>(value) : nullptr;
}

} // namespace

State *find_state(MPI_Comm user) {
    States *const states = states_of(user);
    if (states == nullptr) {
        return nullptr;
    }
    auto const found = states->find(simgrid::s4u::this_actor::get_pid());
    return found == states->end() ? nullptr : found->second.get();
}

State &state_of(MPI_Comm user) {
    if (State *const present = find_state(user)) {
        return *present;
    }
    auto made = std::make_unique<State>(user); // other ranks run meanwhile
    States *states = states_of(user);
    if (states == nullptr) {
        states = new States;
        check(PMPI_Comm_set_attr(user, state_key(), states), "MPI_Comm_set_attr");
    }
    ++live;
    auto &own = (*states)[simgrid::s4u::this_actor::get_pid()];
    own = std::move(made);
    return *own;
}

int live_states() {
    return live;
}

} // namespace weft::alltoall
