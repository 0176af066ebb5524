# SPDX-License-Identifier: BSD-3-Clause
# One launch of weft-measure whose cells take parts of its ranks; beside what measure.cmake takes:
#   -D CELLS=<lines of the cells, joined by "|"> [-D LIMIT=<ns>] [-D "RECORD=<cell> <words its record must have>"]
#   [-D SLOTS=<words of the status file, joined by "|">] [-D REFUSES=ON, if a cell is not measured]
cmake_minimum_required(VERSION 3.20)
include(${CMAKE_CURRENT_LIST_DIR}/measure.cmake)

string(REPLACE "|" "\n" cells "${CELLS}")
if(NOT LIMIT)
  set(LIMIT 100000000000)
endif()
set(plan ${FOLDER}/g000.l1.plan)
file(WRITE ${plan} "weft-plan 2
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

measure(${plan})
if(RECORD)
  string(REGEX MATCH "^[^ ]+" cell "${RECORD}")
  string(REGEX REPLACE "^[^ ]+ " "" words "${RECORD}")
  file(READ ${FOLDER}/cells/${cell}.l1.json record)
  if(NOT record MATCHES "${words}")
    message(FATAL_ERROR "the record of ${cell} has no \"${words}\":\n${record}")
  endif()
endif()
if(EXIT STREQUAL "0" AND NOT REFUSES)
  file(GLOB records ${FOLDER}/cells/*.json)
  foreach(path IN LISTS records)
    file(READ ${path} record)
    string(JSON status GET "${record}" status)
    string(JSON performed GET "${record}" validation performed)
    if(NOT status STREQUAL "ok" OR NOT performed)
      message(FATAL_ERROR "${path}: ${status}, proven ${performed}")
    endif()
  endforeach()
  check_nothing_torn()
endif()
if(SLOTS)
  check_slots(${FOLDER}/launches/g000.l1.status "${SLOTS}")
endif()
