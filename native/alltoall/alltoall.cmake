# SPDX-License-Identifier: BSD-3-Clause
# The library weft_alltoall, for programs of own all-to-alls and for libweft.so. Needs only MPI. Included by ../CMakeLists.txt
# before other targets, since ninja begins in that order, and this unit takes longest.
file(GLOB weft_alltoall_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp common/*.cpp)
list(FILTER weft_alltoall_sources EXCLUDE REGEX "(_simulated|common/json)\\.cpp$")
add_library(weft_alltoall STATIC ${weft_alltoall_sources})
set_target_properties(weft_alltoall PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                               UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0) # as units.cmake
target_include_directories(weft_alltoall PUBLIC ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_SOURCE_DIR})
target_compile_options(weft_alltoall PUBLIC -pthread)
target_link_libraries(weft_alltoall PUBLIC weft_common MPI::MPI_CXX -pthread rt)
if(WEFT_WARNINGS)
  target_compile_options(weft_alltoall PRIVATE -Wall -Wextra -Wshadow)
endif()
