# SPDX-License-Identifier: BSD-3-Clause
# Large units in place of many small ones, because most of a small unit's time goes into headers and into templates that
# each unit makes for itself. A room of measure/ is in one unit whole; names in anonymous namespaces of a unit differ.
# Every program has two units: `around`, which reads plans and writes records before and after a measurement (mostly
# texts: -O1 takes 30 % less of the compiler's time), and `core`, which measures. Each kernel's room is a unit more, and
# so is `own`, for cells that name an all-to-all of ../alltoall, a unit as large as the rest of a program. On two cores
# `around` takes as long as `core` and a kernel (`ninja -j 1 -v` with `time`).
set(weft_around_rooms launch record cell host mpi)
set(weft_core_rooms time sample floor breakdown)
set(weft_kernel_rooms pairs collective exchange replay interference bandwidth probe) # longest first
set(weft_own_rooms own)
# Rooms that a kernel calls beside its own, and kernels whose cells may name an all-to-all.
set(weft_needs_of_interference collective bandwidth own)
set(weft_naming exchange collective replay)

# weft_unit_of(<variable> <source>): around, core, own, or the kernel's room.
function(weft_unit_of variable source)
  get_filename_component(room ${source} DIRECTORY)
  get_filename_component(room ${room} NAME)
  set(unit ${room})
  foreach(large around core)
    if(room IN_LIST weft_${large}_rooms)
      set(unit ${large})
    endif()
  endforeach()
  if(NOT unit MATCHES "^(around|core)$" AND NOT unit IN_LIST weft_kernel_rooms AND NOT unit IN_LIST weft_own_rooms)
    message(FATAL_ERROR "${source}: native/units.cmake lists no room `${room}`: add it there")
  endif()
  set(${variable} ${unit} PARENT_SCOPE)
endfunction()

# weft_units(<source>...): an object library weft-<unit> for each unit.
function(weft_units)
  foreach(source IN LISTS ARGN)
    weft_unit_of(unit ${source})
    list(APPEND sources_of_${unit} ${source})
  endforeach()
  set(sources_of_main measure/launch/main.cpp) # apart, since tests have another
  foreach(unit around core ${weft_kernel_rooms} ${weft_own_rooms} main)
    add_library(weft-${unit} OBJECT ${sources_of_${unit}})
    set_target_properties(weft-${unit} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    target_include_directories(weft-${unit} PRIVATE measure ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(weft-${unit} PRIVATE MPI::MPI_CXX)
    target_compile_definitions(weft-${unit} PRIVATE _FILE_OFFSET_BITS=64)
    if(WEFT_WARNINGS)
      target_compile_options(weft-${unit} PRIVATE -Wall -Wextra -Wshadow)
    endif()
  endforeach()
  target_compile_options(weft-around PRIVATE -O1)
endfunction()

# weft_objects(<variable> <unit>...): the objects of the units of every program, and of these.
function(weft_objects variable)
  set(objects "")
  foreach(unit around core ${ARGN})
    list(APPEND objects $<TARGET_OBJECTS:weft-${unit}>)
  endforeach()
  set(${variable} ${objects} PARENT_SCOPE)
endfunction()

# weft_program(<name> <unit>...): weft-measure with some kernels; those that are not linked are none of its own.
function(weft_program name)
  weft_objects(objects ${ARGN})
  add_executable(${name} $<TARGET_OBJECTS:weft-main> ${objects})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${name} PRIVATE weft_common MPI::MPI_CXX)
  if("own" IN_LIST ARGN)
    target_link_libraries(${name} PRIVATE weft_alltoall)
  endif()
  # Code that only tests' faults use goes.
  target_link_options(${name} PRIVATE -Wl,--gc-sections)
endfunction()

# weft_programs(): weft-measure, which has all kernels, and weft-measure-<kernel>[-own] for a run of one.
function(weft_programs)
  weft_program(weft-measure ${weft_kernel_rooms} ${weft_own_rooms})
  foreach(kernel IN LISTS weft_kernel_rooms)
    set(programs ${kernel})
    if(kernel IN_LIST weft_naming)
      list(APPEND programs ${kernel}-own)
    endif()
    foreach(program IN LISTS programs)
      string(REPLACE "-" ";" units ${program})
      weft_program(weft-measure-${program} ${units} ${weft_needs_of_${kernel}})
      if(NOT WEFT_TESTS)
        set_target_properties(weft-measure-${program} PROPERTIES EXCLUDE_FROM_ALL ON)
      endif()
    endforeach()
  endforeach()
endfunction()
