# SPDX-License-Identifier: BSD-3-Clause
# The tests of the kernel `interference`: its patterns, and whole launches in which some ranks measure and others do not.
weft_test(traffic RANKS 1 3 4)

# weft_jobs_test(<name> <ranks> <exit code> <lines of the cell> [-D...]): see scripts/run_parts.cmake
function(weft_jobs_test name ranks exit lines)
  if(NOT lines MATCHES "burst")
    string(APPEND lines "|burst 2")
  endif()
  set(cell "cell c000|kernel interference|${lines}|traffic_bytes 4096|chunk 2|end")
  weft_launch_test(jobs.${name} ${ranks} ${exit} run_parts "-DCELLS=${cell}" ${ARGN})
endfunction()

set(weft_two_jobs "members 0 2|beside 3 1")
foreach(victim pingpong allreduce alltoall exchange stream)
  weft_jobs_test(${victim} 4 0 "victim ${victim}|bytes 64|window 4|${weft_two_jobs}|traffic alltoall incast.50"
                 "-DRECORD=c000 \"status\":\"ok\".*\"shape\":\\[2,.*${victim}@64.*${victim}.alltoall@64.*${victim}.incast.50@64")
endforeach()
weft_jobs_test(counted 4 0 "victim stream|bytes 64|window 4|${weft_two_jobs}|traffic incast.50|counted 2"
               "-DRECORD=c000 \"status\":\"ok\".*stream.incast.50@64")
# each job by itself takes 1.2 s: whoever looks after three of seven sees one
weft_jobs_test(shown 4 "not 0" "victim stream|bytes 64|window 4|${weft_two_jobs}|traffic alltoall incast shift bcast|counted 5"
               -D LIMIT=3000000000 "-DSLOTS=c000 [^ -][^ ]* counted")
weft_jobs_test(odd 5 0 "victim stream|bytes 64|window 4|members 0 2 4|beside 3 1|traffic alltoall"
               "-DRECORD=c000 \"status\":\"ok\".*stream.alltoall@64")
# the last of three ranks beside has no peers in a stream
weft_jobs_test(idle 5 0 "victim pingpong|bytes 64|window 4|members 0 1|beside 2 3 4|traffic stream stream.50"
               "-DRECORD=c000 \"status\":\"ok\".*pingpong.stream@64.*pingpong.stream.50@64")
weft_jobs_test(patterns 8 0 "victim allreduce|bytes 8|members 1 3 5 7|beside 0 2 4 6|traffic alltoall incast shift bcast stream"
               "-DRECORD=c000 allreduce.stream@8")
# 40 MiB of messages of each of two ranks, none of the four beside, whose libraries have 33 MiB each
set(weft_full "memory_limit_bytes 200000000|cell c000|kernel interference|victim stream|bytes 10485760|window 4")
string(APPEND weft_full "|members 0 2|beside 1 3 4 5|traffic shift|burst 2|traffic_bytes 4096|chunk 2")
weft_launch_test(jobs.full 6 0 run_parts "-DCELLS=${weft_full}|end" "-DRECORD=c000 \"status\":\"ok\"")
weft_launch_test(jobs.crowded 6 0 run_parts "-DCELLS=${weft_full}|mates 2|end" -D REFUSES=ON
                 "-DRECORD=c000 \"status\":\"memory\".*traffic of mates [0-9]+ ")
weft_jobs_test(corrupt 4 3 "victim stream|bytes 64|window 4|${weft_two_jobs}|traffic shift" -D PLANT=corrupt:c000
               "-DRECORD=c000 \"status\":\"invalid\"")
weft_jobs_test(too-little-memory 4 "not 0" "victim alltoall|bytes 64|members 0 1|beside 1 2|traffic shift"
               "-DSAYS=a rank in both jobs")
# what ranks beside the call cannot do is a row, and the launch goes on
weft_jobs_test(refused 4 0 "victim stream|bytes 64|window 4|${weft_two_jobs}|traffic shift|burst 4000000000"
               "-DRECORD=c000 \"status\":\"memory\".*needs [0-9]+ bytes for its 2 ranks" -D REFUSES=ON)
