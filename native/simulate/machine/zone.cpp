// SPDX-License-Identifier: BSD-3-Clause
#include "zone.hpp"

#include "leave.hpp"

#include <simgrid/s4u/Host.hpp>

#include <exception>

namespace weft::simulate {

namespace {
// Computation is not simulated; SimGrid only requires a speed.
constexpr double flops = 1e9;
} // namespace

Zone::Zone(Description net) : NetZoneImpl(net.name), net_(std::move(net)) {
    for (auto node = 0; node < net_.host_count(); ++node) {
        auto const &name = net_.hosts[static_cast<std::size_t>(node)];
        if (net_.ranks_per_node == 0)
            add_host(name, node, none);
        for (auto core = 0; core < net_.ranks_per_node; ++core) {
            add_host(name + "/" + std::to_string(core), node, core);
            if (net_.core_bytes_per_s > 0)
                core_.push_back(add_link("core." + name + "/" + std::to_string(core), net_.core_bytes_per_s, 0));
        }
        memory_.push_back(add_link("memory." + name, net_.memory_bytes_per_s, net_.memory_latency_s));
    }
    // Parallel links have the same ends, so the index makes the name unique.
    for (auto i = 0U; i < net_.links.size(); ++i)
        links_.push_back(add_link("link." + std::to_string(i), net_.links[i].bytes_per_s, net_.links[i].latency_s));
    if (net_.rails > 1)
        add_rails();
    get_iface()->seal();
}

// All adapters of a node together have the rate of its link; each alone has its share of it.
void Zone::add_rails() {
    for (auto node = 0; node < net_.host_count(); ++node) {
        auto const &uplink = net_.links[static_cast<std::size_t>(net_.uplink[static_cast<std::size_t>(node)])];
        for (auto rail = 0; rail < net_.rails; ++rail) {
            auto const name = "rail." + std::to_string(node) + "." + std::to_string(rail);
            rail_out_.push_back(add_link(name + ".out", uplink.bytes_per_s / net_.rails, 0));
            rail_in_.push_back(add_link(name + ".in", uplink.bytes_per_s / net_.rails, 0));
        }
    }
}

std::int32_t Zone::rail(std::int32_t slot) const {
    auto const core = net_.ranks_per_node > 0 ? slot % net_.ranks_per_node : 0;
    return node_of_slot_[static_cast<std::size_t>(slot)] * net_.rails + core % net_.rails;
}

void Zone::add_host(std::string const &name, std::int32_t node, std::int32_t core) {
    auto *host = get_iface()->create_host(name, flops);
    // Properties for the ranks' platform (native/measure/host/platform_simulated.cpp).
    host->set_property("node", net_.hosts[static_cast<std::size_t>(node)]);
    host->set_property("core", std::to_string(core));
    host->set_property("start-up", net_.connections.start_up);
    host->set_property("memory", std::to_string(static_cast<std::int64_t>(net_.memory_bytes)));
    host->seal();
    auto const id = host->get_netpoint()->id();
    if (slot_of_point_.size() <= id)
        slot_of_point_.resize(id + 1, none);
    slot_of_point_[id] = slots_++;
    node_of_slot_.push_back(node);
}

simgrid::kernel::resource::StandardLinkImpl *Zone::add_link(std::string const &name, double bytes_per_s,
                                                            double latency_s) {
    return get_iface()->create_link(name, bytes_per_s)->set_latency(latency_s)->seal()->get_impl();
}

std::int32_t Zone::slot_of(simgrid::s4u::Host const *host) const {
    return slot(host->get_netpoint());
}

std::int32_t Zone::node_of(simgrid::s4u::Host const *host) const {
    return node_of_slot_[static_cast<std::size_t>(slot_of(host))];
}

void Zone::get_local_route(simgrid::kernel::routing::NetPoint const *source,
                           simgrid::kernel::routing::NetPoint const *destination, simgrid::kernel::routing::Route *into,
                           double *latency) {
    // Null if SimGrid asks only for the links (the way back, with network/crosstraffic).
    asked_ = {slot(source), slot(destination)};
    auto const add = [this, latency](double seconds) {
        asked_.latency_s += seconds;
        if (latency)
            *latency += seconds;
    };
    auto const from = node_of_slot_[static_cast<std::size_t>(slot(source))];
    auto const to = node_of_slot_[static_cast<std::size_t>(slot(destination))];
    if (from == to) {
        // One shared link per node: SimGrid's own loopback is a fat pipe, on which copies would not slow each other
        // down.
        into->link_list_.push_back(memory_[static_cast<std::size_t>(from)]);
        if (!core_.empty()) // the rank that receives copies
            into->link_list_.push_back(core_[static_cast<std::size_t>(slot(destination))]);
        add(net_.memory_latency_s);
        return;
    }
    try {
        walk(net_, from, to, walked_);
    } catch (std::exception const &error) {
        leave(error.what());
    }
    if (!rail_out_.empty()) {
        into->link_list_.push_back(rail_out_[static_cast<std::size_t>(rail(slot(source)))]);
        into->link_list_.push_back(rail_in_[static_cast<std::size_t>(rail(slot(destination)))]);
    }
    for (auto const link : walked_) {
        into->link_list_.push_back(links_[static_cast<std::size_t>(link)]);
        add(net_.links[static_cast<std::size_t>(link)].latency_s);
    }
}

} // namespace weft::simulate
