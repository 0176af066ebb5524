# SPDX-License-Identifier: BSD-3-Clause
# Two launches of one cell; what measure.cmake takes. The first decides the batches and writes them down; they are then
# changed by hand, and the second launch must keep to what it finds.
cmake_minimum_required(VERSION 3.20)
include(${CMAKE_CURRENT_LIST_DIR}/measure.cmake)

foreach(index 1 2)
  file(WRITE ${FOLDER}/c000.l${index}.plan "weft-plan 2
launch c000.l${index}
launch_index ${index}
run r1
folder ${FOLDER}
min_samples 2
max_samples 4
warmup_most 2
budget_ns 20000000
cell c000
kernel collective
hash h1
collective alltoall
bytes 8
end
")
endforeach()
measure(${FOLDER}/c000.l1.plan)
set(book ${FOLDER}/cells/c000.batches)
file(STRINGS ${book} lines)
if(NOT lines MATCHES "^weft-batches 1;r1 h1;alltoall@8 [0-9]+;barrier [0-9]+$")
  message(FATAL_ERROR "${book}: ${lines}")
endif()
file(WRITE ${book} "weft-batches 1\nr1 h1\nalltoall@8 777\nbarrier 555\n")
measure(${FOLDER}/c000.l2.plan)
file(READ ${FOLDER}/cells/c000.l2.json record)
if(NOT record MATCHES "\"alltoall@8\",\"phase\":\"warm\"[^}]*\"batch\":777" OR NOT record MATCHES "\"batch\":555")
  message(FATAL_ERROR "the second launch drew batches of its own:\n${record}")
endif()
check_nothing_torn()
