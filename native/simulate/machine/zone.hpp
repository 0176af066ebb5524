// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "description.hpp"

#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>

namespace weft::simulate {

// The machine as one SimGrid zone. SimGrid asks for the route of each communication when it starts, so no routes are
// stored: 4,518 hosts take seconds, while stored routes for all pairs would take gigabytes.
//
// The constructor's first zone becomes the root of the platform; SimGrid owns it.
class Zone : public simgrid::kernel::routing::NetZoneImpl {
  public:
    explicit Zone(Description net);
    ~Zone() override = default;

    Description const &net() const { return net_; }

    // Index of the node of a SimGrid host, and of the host itself (its rank slot).
    std::int32_t node_of(simgrid::s4u::Host const *host) const;
    std::int32_t slot_of(simgrid::s4u::Host const *host) const;
    std::int32_t slot_count() const { return slots_; }
    // The route that SimGrid asked for last: it does so when a message starts.
    struct Asked {
        std::int32_t from = none, to = none; // rank slots
        double latency_s = 0;
    };
    Asked const &asked_last() const { return asked_; }
    // Adapter of its node that a rank uses, counted over all nodes.
    std::int32_t rail_of(simgrid::s4u::Host const *host) const { return rail(slot_of(host)); }
    // Of one adapter's share of the link that its node injects into.
    double injection_bytes_per_s(std::int32_t rail) const {
        auto const node = static_cast<std::size_t>(rail / net_.rails);
        return net_.links[static_cast<std::size_t>(net_.uplink[node])].bytes_per_s / net_.rails;
    }

  protected:
    void get_local_route(simgrid::kernel::routing::NetPoint const *source,
                         simgrid::kernel::routing::NetPoint const *destination, simgrid::kernel::routing::Route *into,
                         double *latency) override;

  private:
    void add_host(std::string const &name, std::int32_t node, std::int32_t core);
    simgrid::kernel::resource::StandardLinkImpl *add_link(std::string const &name, double bytes_per_s,
                                                          double latency_s);
    std::int32_t rail(std::int32_t slot) const;
    void add_rails();
    std::int32_t slot(simgrid::kernel::routing::NetPoint const *point) const { return slot_of_point_[point->id()]; }

    Description net_;
    std::int32_t slots_ = 0;
    std::vector<std::int32_t> node_of_slot_;
    std::vector<std::int32_t> slot_of_point_; // by NetPoint id
    std::vector<simgrid::kernel::resource::StandardLinkImpl *> links_, memory_;
    std::vector<simgrid::kernel::resource::StandardLinkImpl *> core_; // by rank slot; empty if no rate is given
    std::vector<simgrid::kernel::resource::StandardLinkImpl *> rail_out_, rail_in_; // empty if nodes have one adapter
    Asked asked_;
    std::vector<std::int32_t> walked_; // scratch
};

} // namespace weft::simulate
