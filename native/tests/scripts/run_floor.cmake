# SPDX-License-Identifier: BSD-3-Clause
# One launch of weft-measure with two cells of the kernel `floor`, c000 and c001; beside what measure.cmake takes:
#   [-D LINES=<lines of the plan, joined by "|">] [-D RECORD=<words that the record of c001 must have>]
#   [-D CELL_LINES=<lines of the second cell>] [-D NO_RECORD=TRUE] [-D SLOTS=<words of the status file>]
cmake_minimum_required(VERSION 3.20)
include(${CMAKE_CURRENT_LIST_DIR}/measure.cmake)

string(REPLACE "|" "\n" lines "${LINES}")
set(plan ${FOLDER}/g000.l2.plan)
file(WRITE ${plan} "weft-plan 2
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
${CELL_LINES}
end
")

measure(${plan})

if(NO_RECORD)
  if(EXISTS ${FOLDER}/cells/c001.l2.json)
    message(FATAL_ERROR "c001 has a record")
  endif()
elseif(RECORD)
  file(READ ${FOLDER}/cells/c001.l2.json record)
  string(JSON schema GET "${record}" schema)
  if(NOT schema STREQUAL "weft-cell/2")
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
  check_slots(${FOLDER}/launches/g000.l2.status "${SLOTS}")
endif()
if(NOT PLANT)
  check_nothing_torn()
endif()
