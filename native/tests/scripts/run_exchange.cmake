# SPDX-License-Identifier: BSD-3-Clause
# One launch of weft-measure on a plan of one exchange cell, from the flat plan to the cell's record; beside what
# measure.cmake takes:
#   -D DATA=.. -D N=.. -D M=.. -D STATUS=<status> [-D REASON=<words of the reason>] [-D KEYS=..] [-D EXTRA=..]
# It fails unless the record has that status; REASON is looked for in the record, or in the output where there is no
# record (STATUS none).
cmake_minimum_required(VERSION 3.20)
include(${CMAKE_CURRENT_LIST_DIR}/measure.cmake)

set(plan ${FOLDER}/c000.l1.plan)
file(WRITE ${plan} "weft-plan 2
launch c000.l1
launch_index 1
seed 42
folder ${FOLDER}
io mpi
start barrier
precision 0.05
min_samples 1
max_samples 3
warmup_most 2
budget_ns 100000000
limit_ns 300000000000
memory_limit_bytes 0
cell c000
kernel exchange
n ${N}
m ${M}
data ${DATA}
${EXTRA}
")
if(KEYS)
  file(APPEND ${plan} "file ${KEYS}\n")
endif()
file(APPEND ${plan} "end\n")

measure(${plan})

set(record ${FOLDER}/cells/c000.l1.json)
if(STATUS STREQUAL none)
  if(EXISTS ${record})
    message(FATAL_ERROR "there is a record ${record} of a cell that never ran")
  endif()
  set(reason "${output}")
else()
  file(READ ${record} json)
  string(JSON status GET "${json}" status)
  string(JSON reason GET "${json}" reason)
  string(JSON errors GET "${json}" validation errors)
  string(JSON performed GET "${json}" validation performed)
  if(NOT status STREQUAL STATUS)
    message(FATAL_ERROR "status ${status} (${reason}), expected ${STATUS}")
  endif()
  if(status STREQUAL ok AND NOT (performed AND errors EQUAL 0))
    message(FATAL_ERROR "ok without a proof: performed ${performed}, ${errors} errors")
  endif()
  if(status STREQUAL invalid AND NOT errors GREATER 0)
    message(FATAL_ERROR "invalid without an error")
  endif()
endif()
if(REASON)
  string(FIND "${reason}" "${REASON}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "\"${REASON}\" is not in: ${reason}")
  endif()
endif()
file(REMOVE_RECURSE ${FOLDER})
