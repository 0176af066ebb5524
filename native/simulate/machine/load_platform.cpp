// SPDX-License-Identifier: BSD-3-Clause
// smpirun -platform libweft-platform.so: SimGrid loads the library and calls load_platform. The machine's description
// is the file that WEFT_PLATFORM names.
#include "costs.hpp"
#include "in_order.hpp"
#include "leave.hpp"

#include <xbt/config.hpp>

#include <cstdlib>
#include <exception>

namespace {

// The exit code of the watchdog of real ranks, by which a launcher recognises a hung cell.
constexpr int hung = 124;

} // namespace

extern "C" void load_platform(simgrid::s4u::Engine const &) {
    auto const *const file = std::getenv("WEFT_PLATFORM");
    try {
        if (!file)
            throw std::runtime_error("WEFT_PLATFORM does not name the description of a machine");
        auto *const zone = new weft::simulate::Zone(weft::simulate::read_description(file)); // SimGrid owns it
        weft::simulate::charge_messages(*zone);
        if (simgrid::config::get_value<int>("smpi/async-small-thresh") > 0) // else a receiver asks for each message
            weft::simulate::keep_messages_in_order(*zone);
        simgrid::s4u::Engine::on_deadlock_cb(
            [] { weft::simulate::leave("deadlock: every rank waits for something that never comes", hung); });
    } catch (std::exception const &error) {
        weft::simulate::leave(error.what());
    }
}
