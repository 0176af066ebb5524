# SPDX-License-Identifier: BSD-3-Clause
# Large units in place of many small ones, because most of a small unit's time goes into headers and into templates that
# each unit makes for itself. A folder is in one unit whole; names in anonymous namespaces of a unit differ.
# Three units of about the same processor time for the kernels (`ninja -j 1 -v` with `time`), beside one of the all-to-alls:
# what measures, in two, and what stands around it, which reads plans and writes records before and after. That is mostly
# texts: -O1 takes 30 % less of the compiler's time, and nothing of a measurement's.
set(weft_around_rooms launch record cell host)
set(weft_first_unit pairs exchange bandwidth)

# weft_measuring_units(<target> <source>...): the objects of `<target>-around`, and in `weft_measuring_sources` all else.
function(weft_measuring_units target)
  set(around "")
  set(measuring "")
  foreach(source IN LISTS ARGN)
    get_filename_component(room ${source} DIRECTORY)
    get_filename_component(room ${room} NAME)
    if(room IN_LIST weft_around_rooms)
      list(APPEND around ${source})
    else()
      list(APPEND measuring ${source})
      set(unit second)
      if(room IN_LIST weft_first_unit)
        set(unit first)
      endif()
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${unit})
    endif()
  endforeach()
  add_library(${target}-around OBJECT ${around})
  target_compile_options(${target}-around PRIVATE -O1)
  set_target_properties(${target}-around PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  set(weft_measuring_sources ${measuring} PARENT_SCOPE)
endfunction()
