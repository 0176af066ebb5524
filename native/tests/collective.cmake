# SPDX-License-Identifier: BSD-3-Clause
# The tests of the kernels `collective` and `bandwidth`, of refinement, and of cells that take a part of the ranks.
foreach(noun refine block_pattern binding)
  weft_test(${noun} RANKS 1)
endforeach()
foreach(noun timed_teams size_sweep bandwidth overlap neighbors)
  weft_test(${noun})
endforeach()
weft_test(collective_calls RANKS 1 3)
weft_test(collective TIMEOUT 300) # nine calls in all their forms: 8 busy-waiting ranks on 2 cores take a minute

# weft_parts_test(<name> <ranks> <exit code> <cell lines, joined by "|"> [-D...]): see scripts/run_parts.cmake
function(weft_parts_test name ranks exit cells)
  weft_launch_test(parts.${name} ${ranks} ${exit} run_parts "-DCELLS=${cells}" ${ARGN})
endfunction()

set(weft_part "cell c000|kernel collective|collective alltoall|bytes 8 1024|ranks 2|end")
set(weft_members "cell c001|kernel bandwidth|bytes 1 4096|footprint 65536|members 2 0|end")
set(weft_whole "cell c002|kernel collective|collective allreduce|bytes 8|end")
foreach(ranks 3 4)
  weft_parts_test(records ${ranks} 0 "${weft_part}|${weft_members}|${weft_whole}"
                  "-DRECORD=c001 \"ranks\":2,\"status\":\"ok\".*\"shape\":\\[2,.*send@4096")
  weft_parts_test(fake-nodes ${ranks} 0 "${weft_part}|${weft_members}|${weft_whole}" -D FAKE=1
                  "-DRECORD=c000 \"ranks\":2,.*\"method\":\"tree\"")
  # Whoever waits for a wrong part says so, too: mpiexec gives the code of any rank.
  weft_parts_test(corrupt ${ranks} 3 "${weft_part}|${weft_whole}" -D PLANT=corrupt:c000
                  "-DRECORD=c000 \"status\":\"invalid\".*alltoall of .* bytes, root 0")
  # A part that hangs ends the launch within its limit, with a word of each rank.
  weft_parts_test(hang ${ranks} "not 0" "${weft_part}|${weft_whole}" -D LIMIT=5000000000 -D PLANT=hang:c000
                  "-DSLOTS=c000 - - timeout|c000 - waiting timeout")
  # What a part alone finds out ends the launch for all.
  weft_parts_test(failure ${ranks} "not 0" "cell c000|kernel collective|collective bcast|bytes 8 4|ranks 2|end|${weft_whole}"
                  "-DSAYS=bytes 4 does not ascend")
endforeach()
weft_parts_test(too-many 2 1 "cell c000|kernel floor|ranks 3|end" "-DSAYS=`ranks 3` of a launch of 2")
