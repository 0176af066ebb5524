# SPDX-License-Identifier: BSD-3-Clause
# One launch of weft-measure with two cells of the kernel `floor`, c000 and c001:
#   cmake -D MEASURE=.. -D LAUNCH=<mpiexec and flags, joined by "|"> -D RANKS=.. -D FOLDER=.. -D EXIT=<exit code, or
#         "not 0"> [-D LINES=<lines of the plan, joined by "|">] [-D PLANT=..] [-D FAKE=<ranks per fake node>]
#         [-D RECORD=<words that the record of c001 must have>] [-D NO_RECORD=TRUE] [-D SLOTS=<words of the status file>]
#         [-D SAYS=<words of the output>] -P run_floor.cmake
cmake_minimum_required(VERSION 3.20)

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
string(REPLACE "|" "\n" lines "${LINES}")
set(plan ${FOLDER}/g000.l2.plan)
file(WRITE ${plan} "weft-plan 1
launch g000.l2
launch_index 2
folder ${FOLDER}
min_samples 2
max_samples 4
warmup_most 2
budget_ns 20000000
${lines}
cell c000
kernel floor
end
cell c001
kernel floor
end
")

set(ENV{WEFT_PLANT} "${PLANT}")
if(FAKE)
  set(ENV{WEFT_FAKE_RANKS_PER_NODE} ${FAKE})
endif()
string(REPLACE "|" ";" launch "${LAUNCH}")
execute_process(COMMAND ${launch} -n ${RANKS} ${MEASURE} ${plan} RESULT_VARIABLE exit OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
if(EXIT STREQUAL "not 0")
  if(exit STREQUAL "0")
    message(FATAL_ERROR "exit code 0; output:\n${output}")
  endif()
elseif(NOT exit STREQUAL EXIT)
  message(FATAL_ERROR "exit code ${exit} instead of ${EXIT}; output:\n${output}")
endif()

if(SAYS AND NOT output MATCHES "${SAYS}")
  message(FATAL_ERROR "the output does not say \"${SAYS}\":\n${output}")
endif()
if(NO_RECORD)
  if(EXISTS ${FOLDER}/cells/c001.l2.json)
    message(FATAL_ERROR "c001 has a record")
  endif()
elseif(RECORD)
  file(READ ${FOLDER}/cells/c001.l2.json record)
  string(JSON schema GET "${record}" schema)
  if(NOT schema STREQUAL "weft-cell/1")
    message(FATAL_ERROR "schema ${schema}")
  endif()
  if(NOT record MATCHES "${RECORD}")
    message(FATAL_ERROR "the record of c001 has no \"${RECORD}\":\n${record}")
  endif()
  string(JSON status GET "${record}" status)
  if(status STREQUAL "ok" AND NOT EXISTS ${FOLDER}/cells/c001.l2.npy)
    message(FATAL_ERROR "c001 is ok, but has no samples")
  endif()
  file(READ ${FOLDER}/launches/g000.l2.json launch_record)
  string(JSON ranks LENGTH "${launch_record}" ranks)
  if(NOT ranks EQUAL RANKS)
    message(FATAL_ERROR "the launch records ${ranks} ranks")
  endif()
endif()
if(SLOTS)
  file(STRINGS ${FOLDER}/launches/g000.l2.status slots)
  if(NOT slots MATCHES "${SLOTS}")
    message(FATAL_ERROR "the status slots have no \"${SLOTS}\": ${slots}")
  endif()
endif()
file(GLOB_RECURSE parts ${FOLDER}/*.part)
if(parts AND NOT PLANT)
  message(FATAL_ERROR "left behind: ${parts}")
endif()
