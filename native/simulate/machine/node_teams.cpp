// SPDX-License-Identifier: BSD-3-Clause
// SMPI's hierarchical algorithms split a communicator by node in their first call, by messages between all pairs of
// ranks. A library knows its nodes from the start: here the split costs nothing and opens no connection, and Weft makes
// it before anything is timed (native/measure/host/platform_simulated.cpp).
#include "costs.hpp"
#include "smpi_names.hpp"

void simgrid::smpi::Comm::init_smp() {
    static auto *const own = weft::simulate::of_simgrid<void(Comm *)>("_ZN7simgrid4smpi4Comm8init_smpEv");
    weft::simulate::Free const nothing;
    own(this);
}

extern "C" void weft_split_by_node(MPI_Comm comm) {
    comm->init_smp();
}
