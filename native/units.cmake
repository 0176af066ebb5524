# SPDX-License-Identifier: BSD-3-Clause
# Large units in place of many small ones, because most of a small unit's time goes into headers and into templates that
# each unit makes for itself. A folder is in one unit whole; names in anonymous namespaces of a unit differ.
# Two units of the same processor time for the kernels (`cmake --build . -j 2` with `time`), for a login node's two cores.
set(weft_first_unit pairs exchange bandwidth launch record cell)

# weft_measuring_units(<source>...): the unit of each source of measure/, by its folder.
function(weft_measuring_units)
  foreach(source IN LISTS ARGN)
    get_filename_component(room ${source} DIRECTORY)
    get_filename_component(room ${room} NAME)
    set(unit second)
    if(room IN_LIST weft_first_unit)
      set(unit first)
    endif()
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${unit})
  endforeach()
endfunction()
