// SPDX-License-Identifier: BSD-3-Clause
#include "launch/provenance.hpp"

#include "common/json.hpp"
#include "host/host_memory.hpp"
#include "host/platform.hpp"
#include "host/settings.hpp"
#include "host/thresholds.hpp"
#include "launch/sources.hpp"
#include "mpi/agree.hpp"

#include <array>

namespace weft {

namespace {

/// One rank's placement, as JSON.
std::string describe_rank(Team const &team, platform::Host const &here, std::int64_t init_ns) {
    Json json;
    json.begin_object();
    json.member("rank", team.rank);
    json.member("host", team.hosts[std::size_t(team.node)]);
    json.member("node", team.node);
    json.member("local_rank", team.local_rank);
    json.member("cpus", here.cpus);
    json.member("core", here.core);
    json.member("pid", here.pid);
    json.member("init_ns", init_ns);
    json.member("memory_available_bytes", platform::memory().node_bytes);
    json.end_object();
    return json.text();
}

/// Collective: every rank's placement, as members of a JSON array; on rank 0.
std::string describe_ranks(Team const &team, platform::Host const &here, std::int64_t init_ns) {
    std::string ranks;
    for (std::string const &rank : texts_on_rank_0(team, describe_rank(team, here, init_ns))) {
        ranks += (ranks.empty() ? "" : ",") + rank;
    }
    return ranks;
}

void add_settings(Json &json, std::string const &key, Settings const &settings) {
    json.key(key).begin_object();
    for (auto const &[name, value] : settings) {
        json.member(name, value);
    }
    json.end_object();
}

} // namespace

std::string library_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    check(PMPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
    std::string version(text.data());
    while (!version.empty() && (version.back() == '\n' || version.back() == ' ')) {
        version.pop_back();
    }
    return version;
}

LibrarySettings read_settings(Team const &team, Plan const &plan) {
    if (team.rank != 0) {
        return {};
    }
    auto const path = platform::variable("WEFT_DEFAULT_SETTINGS");
    std::string const text = path ? read_text(*path) : "";
    Settings const defaults = from_lines(text);
    Settings const environment = mpi_environment(); // before components set variables (PSM2_DEVICES)
    Settings const variables = plan.settings_of.empty() ? control_variables() : Settings{};
    return {differences({}, environment, defaults),
            differences(text.empty() ? Settings{} : variables, environment, defaults), thresholds(variables)};
}

std::string describe_launch(Team const &team, Plan const &plan, Clock const &clock, LibrarySettings const &settings,
                            std::int64_t init_ns) {
    platform::Host const here = platform::host();
    std::string const ranks = describe_ranks(team, here, init_ns);
    if (team.rank != 0) {
        return "";
    }
    int version = 0;
    int subversion = 0;
    check(PMPI_Get_version(&version, &subversion), "MPI_Get_version");
    Json json;
    json.begin_object();
    json.member("schema", "weft-launch/1")
        .member("run", plan.run)
        .member("launch", plan.launch)
        .member("launch_index", plan.launch_index);
    json.member("mpi_library", library_version());
    json.member("mpi_standard", std::to_string(version) + "." + std::to_string(subversion));
    json.member("processor", here.processor).member("kernel_sources", kernel_sources());
    json.key("clock").begin_object();
    json.member("resolution_ns", clock.cost().resolution_ns).member("cost_ns", clock.cost().cost_ns);
    json.member("method", clock.shared() ? "shared" : "tree").member("residual_ns", clock.residual_ns());
    json.end_object();
    json.member("start", plan.start).member("seed", plan.seed).member("page_bytes", here.page_bytes);
    json.member("cache", "hot");
    add_settings(json, "environment", settings.environment);
    if (plan.settings_of.empty()) {
        add_settings(json, "settings", settings.all);
        add_settings(json, "named_settings", settings.thresholds);
    } else {
        json.member("settings_of", plan.settings_of);
    }
    json.key("ranks").begin_array().raw(ranks).end_array();
    json.end_object();
    return with_checksum(json.text());
}

} // namespace weft
