# SPDX-License-Identifier: BSD-3-Clause
# What the harness costs, at two sizes: its times beside those of a bare loop that batches by itself. The programs of
# bench/harness.py are compiled here, too.
if(NOT TARGET bare_loop)
  foreach(bench bare_loop bare_ping_pong bare_sweep)
    add_executable(${bench} ${PROJECT_SOURCE_DIR}/bench/${bench}.cpp)
    target_link_libraries(${bench} PRIVATE weft_measuring)
  endforeach()
endif()
add_test(NAME bench.bare_loop.2 COMMAND ${WEFT_MPIEXEC} ${weft_mpiexec_flags} -n 2 $<TARGET_FILE:bare_loop> 5 8 65536)
set_tests_properties(bench.bare_loop.2 PROPERTIES TIMEOUT 120 PROCESSORS 2 RUN_SERIAL TRUE ENVIRONMENT "${weft_test_environment}")
