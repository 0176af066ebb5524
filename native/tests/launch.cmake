# SPDX-License-Identifier: BSD-3-Clause
# Whole launches of weft-measure: what stands in its records, its exit codes, and the faults planted by WEFT_PLANT.
# weft_floor_test(<name> <ranks> <exit code> [-D...]): see scripts/run_floor.cmake
function(weft_floor_test name ranks exit)
  weft_launch_test(launch.${name} ${ranks} ${exit} run_floor ${ARGN})
endfunction()

foreach(ranks 1 2 3 4 8)
  weft_floor_test(plain ${ranks} 0 "-DRECORD=\"status\":\"ok\".*\"columns\":\\[\"start_ns\",\"duration_ns\",\"[a-z]+\"\\].*\"method\":\"shared\".*\"performed\":true,\"errors\":0")
endforeach()
foreach(ranks 3 4)
  weft_floor_test(fake-nodes ${ranks} 0 -D FAKE=2 "-DRECORD=\"method\":\"tree\",\"residual_ns\":[1-9]")
  weft_floor_test(window ${ranks} 0 "-DLINES=start window|io posix" "-DRECORD=\"status\":\"ok\"")
  weft_floor_test(mpi-barrier ${ranks} 0 "-DLINES=start mpi-barrier|io posix" "-DRECORD=\"status\":\"ok\"")
endforeach()

# A cell that does not fit is a row, and the launch goes on.
weft_floor_test(too-little-memory 2 0 "-DLINES=memory_limit_bytes 1000000"
                "-DRECORD=\"status\":\"memory\".*\"available_node_bytes\":1000000,\"formula\":\"copy from 67108864 ")

# Faults. The last rank hangs or dies in c001; whoever waits for it is ended by its own watchdog.
foreach(ranks 1 2 4)
  weft_floor_test(hang ${ranks} "not 0" "-DLINES=limit_ns 3000000000" -D PLANT=hang:c001 -D NO_RECORD=TRUE
                  "-DSLOTS=timeout")
  weft_floor_test(crash ${ranks} "not 0" "-DLINES=limit_ns 60000000000" -D PLANT=crash:c001 -D NO_RECORD=TRUE
                  "-DSLOTS=c001 - - starting")
endforeach()
weft_floor_test(hang-elsewhere 2 0 -D PLANT=hang:c007 "-DRECORD=\"status\":\"ok\"")

# A plan that cannot be run is not begun.
weft_floor_test(unknown-kernel 2 1 "-DLINES=cell c009|kernel sleep|end" -D NO_RECORD=TRUE
                "-DSAYS=error: unknown kernel `sleep`.*-> this weft-measure has:.*floor")
weft_floor_test(unknown-key 2 1 "-DLINES=speed 3" -D NO_RECORD=TRUE "-DSAYS=line 9: unknown key `speed`")
weft_floor_test(no-folder 2 1 "-DLINES=folder /dev/null/run" -D NO_RECORD=TRUE
                "-DSAYS=cannot make /dev/null/run/cells: Not a directory\n  -> every host must see the run folder")

# A program of one kernel has no other but the floor, and those that it calls; without `own` it says what it lacks.
foreach(kernel IN LISTS weft_kernel_rooms)
  set(has "${kernel}")
  if(kernel STREQUAL "interference")
    set(has "collective, bandwidth, interference")
  endif()
  weft_floor_test(alone-${kernel} 1 1 -D MEASURE=$<TARGET_FILE:weft-measure-${kernel}> "-DLINES=cell c009|kernel sleep|end"
                  -D NO_RECORD=TRUE "-DSAYS=this weft-measure has: ${has}, floor")
endforeach()
set(weft_named "-DCELLS=cell c000|kernel collective|collective alltoall|bytes 8|algorithm flat.pairwise|end")
weft_launch_test(launch.without-own 2 1 run_parts -D MEASURE=$<TARGET_FILE:weft-measure-collective> "${weft_named}"
                 "-DSAYS=this weft-measure has none of Weft's own all-to-alls")
weft_launch_test(launch.with-own 2 0 run_parts -D MEASURE=$<TARGET_FILE:weft-measure-collective-own> "${weft_named}"
                 "-DRECORD=c000 \"status\":\"ok\"")

# Which MPI is loaded: the one of the compiler wrapper, without MPI_Init and without mpiexec.
add_test(NAME launch.version COMMAND weft-measure --version)
set_tests_properties(launch.version PROPERTIES PASS_REGULAR_EXPRESSION "Open MPI v|MPICH Version")
if(MPI_CXX_LIBRARY_VERSION_STRING)
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" weft_mpi_version "${MPI_CXX_LIBRARY_VERSION_STRING}")
  set_tests_properties(launch.version PROPERTIES PASS_REGULAR_EXPRESSION "${weft_mpi_version}")
endif()
add_test(NAME launch.settings COMMAND ${WEFT_MPIEXEC} ${weft_mpiexec_flags} -n 2 $<TARGET_FILE:weft-measure> --settings)
set_tests_properties(launch.settings PROPERTIES ENVIRONMENT "${weft_test_environment}" PASS_REGULAR_EXPRESSION
                                                "btl_tcp_eager_limit=[0-9]|MPIR_CVAR_ALLTOALL_SHORT_MSG_SIZE=[0-9]")
add_test(NAME launch.usage COMMAND weft-measure)
set_tests_properties(launch.usage PROPERTIES WILL_FAIL TRUE)

# All launches of a cell have the batches of the first.
foreach(ranks 2 3)
  weft_launch_test(launch.again ${ranks} 0 run_again)
endforeach()

# More ranks than this host can have cores, or all on one: each cell says so, whatever the launcher thought.
find_program(WEFT_TASKSET taskset)
if(WEFT_TASKSET)
  weft_floor_test(shared-core 2 0 -D ON_CORE=0 "-DRECORD=\"warnings\":\\[\"two ranks on one core: ranks 0, 1 of ")
endif()

# The floor copies as many bytes as the plan says, in buffers of that size, and proves each.
weft_floor_test(copies 2 0 "-DCELL_LINES=copies 4096 100001" "-DRECORD=copy-4096.*copy-100001.*\"errors\":0.*every copied byte.*copy from 100001 ")
weft_floor_test(copies-corrupt 3 3 "-DCELL_LINES=copies 4096 100001" -D PLANT=corrupt:c001
                "-DRECORD=\"invalid\".*rank 2: byte 2048 of 4096 was not copied")
weft_floor_test(copies-descend 2 1 "-DCELL_LINES=copies 4096 16" -D NO_RECORD=TRUE "-DSAYS=copies 16 is under 1, or does not ascend")

# Whom the first call of a launch meets: processes of their own for each case, Open MPI over TCP, where connections show.
foreach(case "loopback|*on one host*" "network|*over a network*" "met|without a back channel*")
  string(REPLACE "|" ";" case "${case}")
  list(GET case 0 suffix)
  list(GET case 1 chosen)
  weft_test(first_calls RANKS 2 4 8 SUFFIX ${suffix} ARGS "--test-case=${chosen}" ENVIRONMENT OMPI_MCA_btl=self,tcp)
endforeach()
