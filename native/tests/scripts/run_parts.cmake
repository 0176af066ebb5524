# SPDX-License-Identifier: BSD-3-Clause
# One launch of weft-measure whose cells take parts of its ranks:
#   cmake -D MEASURE=.. -D LAUNCH=<mpiexec and flags, joined by "|"> -D RANKS=.. -D FOLDER=.. -D EXIT=<exit code, or
#         "not 0"> -D CELLS=<lines of the cells, joined by "|"> [-D LIMIT=<ns>] [-D PLANT=..] [-D FAKE=<ranks per fake
#         node>] [-D "RECORD=<cell> <words its record must have>"] [-D SLOTS=<words of the status file>]
#         [-D SAYS=<words of the output>] -P run_parts.cmake
cmake_minimum_required(VERSION 3.20)

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
string(REPLACE "|" "\n" cells "${CELLS}")
if(NOT LIMIT)
  set(LIMIT 100000000000)
endif()
set(plan ${FOLDER}/g000.l1.plan)
file(WRITE ${plan} "weft-plan 1
launch g000.l1
launch_index 1
folder ${FOLDER}
min_samples 2
max_samples 4
warmup_most 2
budget_ns 20000000
limit_ns ${LIMIT}
${cells}
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
if(RECORD)
  string(REGEX MATCH "^[^ ]+" cell "${RECORD}")
  string(REGEX REPLACE "^[^ ]+ " "" words "${RECORD}")
  file(READ ${FOLDER}/cells/${cell}.l1.json record)
  if(NOT record MATCHES "${words}")
    message(FATAL_ERROR "the record of ${cell} has no \"${words}\":\n${record}")
  endif()
endif()
if(EXIT STREQUAL "0")
  file(GLOB records ${FOLDER}/cells/*.json)
  foreach(path IN LISTS records)
    file(READ ${path} record)
    string(JSON status GET "${record}" status)
    string(JSON performed GET "${record}" validation performed)
    if(NOT status STREQUAL "ok" OR NOT performed)
      message(FATAL_ERROR "${path}: ${status}, proven ${performed}")
    endif()
  endforeach()
  file(GLOB parts ${FOLDER}/cells/*.part)
  if(parts)
    message(FATAL_ERROR "left behind: ${parts}")
  endif()
endif()
if(SLOTS)
  file(STRINGS ${FOLDER}/launches/g000.l1.status slots)
  string(REPLACE "|" ";" wanted "${SLOTS}")
  foreach(words IN LISTS wanted)
    if(NOT slots MATCHES "${words}")
      message(FATAL_ERROR "the status slots have no \"${words}\": ${slots}")
    endif()
  endforeach()
endif()
