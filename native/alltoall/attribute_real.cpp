// SPDX-License-Identifier: BSD-3-Clause
// States as attributes of communicators.
#include "state.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace weft::alltoall {

namespace {

/// A communicator to be cleared at MPI_Finalize, in the order of creation.
struct Live {
    MPI_Comm comm;
    State *state;
};

std::mutex guard; // held briefly, never during communication
std::vector<Live> live;
std::once_flag once;
int key = MPI_KEYVAL_INVALID;

extern "C" int free_state(MPI_Comm, int, void *value, void *) {
    std::unique_ptr<State> const state(static_cast<State *>(value));
    std::lock_guard const lock(guard);
    std::erase_if(live, [&](Live const &each) { return each.state == state.get(); });
    return MPI_SUCCESS;
}

/// Runs first in MPI_Finalize, while communicators can still be freed in order.
extern "C" int free_all(MPI_Comm, int, void *, void *) {
    for (;;) {
        MPI_Comm last = MPI_COMM_NULL;
        {
            std::lock_guard const lock(guard);
            if (live.empty()) {
                return MPI_SUCCESS;
            }
            last = live.back().comm;
        }
        PMPI_Comm_delete_attr(last, key);
    }
}

void make_keys() {
    check(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_state, &key, nullptr), "MPI_Comm_create_keyval");
    int at_end = MPI_KEYVAL_INVALID;
    check(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_all, &at_end, nullptr), "MPI_Comm_create_keyval");
    check(PMPI_Comm_set_attr(MPI_COMM_SELF, at_end, nullptr), "MPI_Comm_set_attr");
    PMPI_Comm_free_keyval(&at_end); // the attribute keeps it
}

} // namespace

State *find_state(MPI_Comm user) {
    std::call_once(once, make_keys);
    void *value = nullptr;
    int found = 0;
    check(PMPI_Comm_get_attr(user, key, &value, &found), "MPI_Comm_get_attr");
    return found != 0 ? static_cast<State *>(value) : nullptr;
}

State &state_of(MPI_Comm user) {
    if (State *const present = find_state(user)) {
        return *present;
    }
    auto made = std::make_unique<State>(user);
    check(PMPI_Comm_set_attr(user, key, made.get()), "MPI_Comm_set_attr");
    std::lock_guard const lock(guard);
    live.push_back({user, made.get()});
    return *made.release();
}

int live_states() {
    std::lock_guard const lock(guard);
    return int(live.size());
}

} // namespace weft::alltoall
