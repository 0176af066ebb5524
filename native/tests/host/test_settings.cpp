// SPDX-License-Identifier: BSD-3-Clause
#include "host/settings.hpp"
#include "host/thresholds.hpp"
#include "launch/provenance.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

using weft::Settings;

TEST_CASE("settings survive the way through their file") {
    Settings const settings{{"a", "1"}, {"b", "x=y"}, {"c", "two\nlines \\n"}, {"d", ""}};
    CHECK(weft::from_lines(weft::to_lines(settings)) == settings);
}

TEST_CASE("only what differs from the default is told") {
    Settings const defaults{{"pml", "ob1"}, {"OMPI_MCA_ess", "pmi"}, {"btl", "sm,tcp"}};
    Settings const variables{{"pml", "ucx"}, {"btl", "sm,tcp"}, {"came_up_later", "1"}};
    Settings const environment{{"OMPI_MCA_pml", "ucx"}, {"OMPI_MCA_ess", "pmi"}, {"UCX_TLS", "rc"}};
    Settings const expected{{"pml", "ucx"}, {"OMPI_MCA_pml", "ucx"}, {"UCX_TLS", "rc"}};
    CHECK(weft::differences(variables, environment, defaults) == expected);
}

TEST_CASE("what a launcher writes for itself is no setting") {
    Settings const environment{
        {"OMPI_MCA_num_procs", "4"}, {"OMPI_MCA_orte_hnp_uri", "1.0;tcp"}, {"PMIX_MCA_psec", "x"}};
    CHECK(weft::differences({}, environment, {}).empty());
}

TEST_CASE("the environment of every MPI library is heard, and nothing else") {
    setenv("FI_PROVIDER", "tcp", 1);
    setenv("PSM3_DEVICES", "self", 1);
    setenv("WEFT_UNRELATED", "1", 1);
    Settings const heard = weft::mpi_environment();
    CHECK(heard.at("FI_PROVIDER") == "tcp");
    CHECK(heard.at("PSM3_DEVICES") == "self");
    CHECK_FALSE(heard.contains("WEFT_UNRELATED"));
}

TEST_CASE("the library tells its control variables") {
    Settings const variables = weft::control_variables();
    CHECK(variables.size() > 50);
    CHECK(weft::control_variables() == variables);
    bool const open_mpi = weft::library_version().find("Open MPI") != std::string::npos;
    CHECK(variables.contains(open_mpi ? "btl_tcp_eager_limit" : "MPIR_CVAR_ALLTOALL_SHORT_MSG_SIZE"));
}

TEST_CASE("thresholds are told whatever their values, other variables are not") {
    Settings const variables{
        {"btl_sm_eager_limit", "4096"}, {"btl_sm_verbose", "0"}, {"pml", "ob1"}, {"pml_base", "x"}, {"smsc", ""},
        {"smsc_cma_priority", "37"}};
    Settings const expected{{"btl_sm_eager_limit", "4096"}, {"pml", "ob1"}, {"smsc", ""}, {"smsc_cma_priority", "37"}};
    CHECK(weft::thresholds(variables) == expected);
}

TEST_CASE("the library tells its thresholds") {
    Settings const found = weft::thresholds(weft::control_variables());
    bool const open_mpi = weft::library_version().find("Open MPI") != std::string::npos;
    CHECK(found.contains(open_mpi ? "btl_tcp_eager_limit" : "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD"));
    CHECK(found.size() < 200);
}
