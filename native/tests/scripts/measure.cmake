# SPDX-License-Identifier: BSD-3-Clause
# What the scripts beside this one share: a folder of its own, one launch of weft-measure, and what it must leave.
# They take
#   -D MEASURE=.. -D LAUNCH=<mpiexec and flags, joined by "|"> -D RANKS=.. -D FOLDER=.. -D EXIT=<exit code, or "not 0">
#   [-D PLANT=<fault>] [-D FAKE=<ranks per fake node>] [-D SAYS=<words of the output>]
#   [-D ON_CORE=<the CPU that all ranks have to share>]
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})

# Removes what a launch that was aborted left in /dev/shm, as the keeper of a run does: its ranks noted the names there
# (measure/host/shared_memory.hpp). MPICH leaves one file of some MiB for each such launch.
function(sweep session)
  if(EXISTS ${session}/shared)
    file(STRINGS ${session}/shared names)
    foreach(name IN LISTS names)
      file(REMOVE /dev/shm/${name})
    endforeach()
  endif()
  file(REMOVE_RECURSE ${session})
endfunction()

# Starts a launch of the plan; it must end with EXIT and say SAYS. Sets `output`.
macro(measure plan)
  string(RANDOM LENGTH 12 random)
  set(ENV{TMPDIR} /tmp/weft-${random}) # short, since sockets lie in it
  file(MAKE_DIRECTORY $ENV{TMPDIR})
  set(ENV{WEFT_PLANT} "${PLANT}")
  if(FAKE)
    set(ENV{WEFT_FAKE_RANKS_PER_NODE} ${FAKE})
  endif()
  string(REPLACE "|" ";" launch "${LAUNCH}")
  if(DEFINED ON_CORE)
    list(PREPEND launch taskset -c ${ON_CORE})
  endif()
  execute_process(COMMAND ${launch} -n ${RANKS} ${MEASURE} ${plan} RESULT_VARIABLE exit OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  sweep($ENV{TMPDIR})
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
endmacro()

# The slots of a status file must have each of the words, joined by "|".
function(check_slots path words)
  file(STRINGS ${path} slots)
  string(REPLACE "|" ";" wanted "${words}")
  foreach(word IN LISTS wanted)
    if(NOT slots MATCHES "${word}")
      message(FATAL_ERROR "the status slots have no \"${word}\": ${slots}")
    endif()
  endforeach()
endfunction()

# No file may be left half written.
function(check_nothing_torn)
  file(GLOB_RECURSE torn ${FOLDER}/*.part)
  if(torn)
    message(FATAL_ERROR "left behind: ${torn}")
  endif()
endfunction()
