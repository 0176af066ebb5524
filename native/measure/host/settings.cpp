// SPDX-License-Identifier: BSD-3-Clause
#include "host/settings.hpp"

#include "host/platform.hpp"

#include <algorithm>
#include <array>

namespace weft {

namespace {

std::string escape(std::string_view text) {
    std::string result;
    for (char const symbol : text) {
        result += symbol == '\\' ? "\\\\" : symbol == '\n' ? "\\n" : std::string(1, symbol);
    }
    return result;
}

std::string unescape(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 1 < text.size()) {
            ++i;
            result += text[i] == 'n' ? '\n' : text[i];
        } else {
            result += text[i];
        }
    }
    return result;
}

// Variables that launchers set for their own purposes, different at each start, and one that Open MPI 5.0.11 reports
// uninitialised. A name with * at its end is a prefix.
constexpr std::array<std::string_view, 13> bookkeeping{
    "PREFIXES",   "cpu_type",       "initial_wdir", "num_procs",         "orte_*", "ess*", "pmix", "psec", "shmem_RUN*",
    "mca_base_*", "mpi_ft_verbose", "mca_param*",   "mca_component_path"};

bool is_bookkeeping(std::string_view name) {
    for (std::string_view const prefix : {"OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_"}) {
        if (name.starts_with(prefix)) {
            name.remove_prefix(prefix.size());
        }
    }
    return std::any_of(bookkeeping.begin(), bookkeeping.end(), [&](std::string_view known) {
        return known.ends_with('*') ? name.starts_with(known.substr(0, known.size() - 1)) : name == known;
    });
}

} // namespace

std::string to_lines(Settings const &settings) {
    std::string lines;
    for (auto const &[name, value] : settings) {
        lines += name + "=" + escape(value) + "\n";
    }
    return lines;
}

Settings from_lines(std::string_view text) {
    Settings settings;
    while (!text.empty()) {
        std::size_t const end = text.find('\n');
        std::string_view const line = text.substr(0, end);
        std::size_t const equals = line.find('=');
        if (equals != std::string_view::npos) {
            settings.insert_or_assign(std::string(line.substr(0, equals)), unescape(line.substr(equals + 1)));
        }
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return settings;
}

Settings mpi_environment() {
    constexpr std::array<std::string_view, 10> prefixes{"OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_", "MPIR_CVAR_", "MPICH_",
                                                        "UCX_",      "FI_",       "MV2_",      "I_MPI_",     "PSM"};
    Settings heard;
    for (auto const &[name, value] : platform::environment()) {
        if (std::any_of(prefixes.begin(), prefixes.end(), [&](auto prefix) { return name.starts_with(prefix); })) {
            heard.emplace(name, value);
        }
    }
    return heard;
}

Settings all_settings() {
    Settings all = control_variables();
    all.merge(mpi_environment());
    return all;
}

Settings differences(Settings const &variables, Settings const &environment, Settings const &defaults) {
    Settings different;
    for (auto const &[name, value] : environment) {
        auto const usual = defaults.find(name);
        if (!is_bookkeeping(name) && (usual == defaults.end() || usual->second != value)) {
            different.emplace(name, value);
        }
    }
    for (auto const &[name, value] : variables) {
        auto const usual = defaults.find(name);
        if (!is_bookkeeping(name) && usual != defaults.end() && usual->second != value) {
            different.emplace(name, value);
        }
    }
    return different;
}

} // namespace weft
