// SPDX-License-Identifier: BSD-3-Clause
// SimGrid's SMPI. Copies are charged by the machine (native/simulate/machine/copies.hpp), before the next step that is
// none, so that those of a phase are one use of the node's memory.
#include "platform.hpp"

#include "../simulate/ranks/folded_memory.hpp"
#include "../simulate/ranks/machine.hpp"
#include "hooks.hpp"

#include <simgrid/s4u.hpp>

#include <cstring>
#include <map>
#include <string>
#include <string_view>

namespace weft::alltoall::platform {

namespace {

void settle_before(char const *step) {
    if (std::string_view(step) != "pack" && std::string_view(step) != "unpack") {
        simulate::settle_copies();
    }
}

/// A number for each name of a node: all ranks are one process.
int number_of(std::string const &name) {
    static std::map<std::string, int> numbers;
    return numbers.try_emplace(name, int(numbers.size())).first->second;
}

} // namespace

bool is_usable(MPI_Datatype type) {
    return type != MPI_DATATYPE_NULL;
}

bool refuses_aliases() {
    return false;
}

Comm sharing_memory(MPI_Comm comm, int rank) {
    step_hook.store(settle_before);
    auto const *const name = simgrid::s4u::this_actor::get_host()->get_property("node");
    return Comm::split(comm, number_of(name != nullptr ? name : ""), rank);
}

void copy(std::byte *to, std::byte const *from, std::size_t bytes) {
    simulate::charge_copy(bytes);
    if (!simulate::is_folded(to) && !simulate::is_folded(from)) {
        std::memcpy(to, from, bytes);
    }
}

int wait_some(std::span<MPI_Request> requests, int &count, int *ended, MPI_Status *statuses) {
    count = 1;
    return PMPI_Waitany(int(requests.size()), requests.data(), ended, statuses);
}

std::int64_t received_bytes(MPI_Status &status) {
    int bytes = 0; // SMPI has no MPI_Get_elements_x
    check(PMPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    return bytes;
}

// SMPI cannot say what a datatype is made of; the kernels' own are in order.
bool is_in_order(MPI_Datatype) {
    return true;
}

} // namespace weft::alltoall::platform
