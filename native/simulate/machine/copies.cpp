// SPDX-License-Identifier: BSD-3-Clause
#include "copies.hpp"

#include "smpi_names.hpp"

#include <simgrid/s4u.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace weft::simulate {
namespace {

constexpr std::size_t line_bytes = 64;

// Bytes that an actor has copied and not yet paid for.
std::map<long, std::size_t> &owed() {
    static std::map<long, std::size_t> all;
    return all;
}

bool &of_library() {
    static bool charged = false;
    return charged;
}

} // namespace

void charge_library_copies() {
    of_library() = true;
}

} // namespace weft::simulate

extern "C" void weft_charge_copy(std::size_t bytes) {
    constexpr auto line = weft::simulate::line_bytes;
    weft::simulate::owed()[simgrid::s4u::this_actor::get_pid()] += (bytes + line - 1) / line * line;
}

extern "C" bool weft_charges_library_copies() {
    return weft::simulate::of_library();
}

extern "C" void weft_settle_copies() {
    auto &bytes = weft::simulate::owed()[simgrid::s4u::this_actor::get_pid()];
    if (bytes == 0)
        return;
    auto *const here = simgrid::s4u::this_actor::get_host();
    simgrid::s4u::Comm::sendto(here, here, std::exchange(bytes, 0));
}

// Every copy that SMPI's algorithms make goes through this function; so does MPI_Pack.
int simgrid::smpi::Datatype::copy(void const *from, int from_count, Datatype *from_type, void *to, int to_count,
                                  Datatype *to_type) {
    static auto *const own = weft::simulate::of_simgrid<int(void const *, int, Datatype *, void *, int, Datatype *)>(
        "_ZN7simgrid4smpi8Datatype4copyEPKviPS1_PviS4_");
    if (weft::simulate::of_library()) {
        auto bytes = 0, to_bytes = 0;
        PMPI_Type_size(from_type, &bytes);
        PMPI_Type_size(to_type, &to_bytes);
        weft_charge_copy(std::min(static_cast<std::size_t>(bytes) * static_cast<std::size_t>(from_count),
                                  static_cast<std::size_t>(to_bytes) * static_cast<std::size_t>(to_count)));
    }
    return own(from, from_count, from_type, to, to_count, to_type);
}
