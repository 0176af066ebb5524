# SPDX-License-Identifier: BSD-3-Clause
# The tests of the kernel `exchange`: its nouns, and whole launches of weft-measure.
foreach(noun m_vector contention_set local_sort merge splitters proof key_source npy_file)
  weft_test(${noun} RANKS 1)
endforeach()
foreach(noun block_table sample_sort exchange)
  weft_test(${noun})
endforeach()

add_executable(make_keys make_keys.cpp)
add_test(NAME exchange.keys COMMAND make_keys ${CMAKE_CURRENT_BINARY_DIR}/keys.npy 1001)
set_tests_properties(exchange.keys PROPERTIES FIXTURES_SETUP weft_keys)

# weft_exchange_test(<name> <ranks> <data> <n> <m> <exit code> <status> [-D...]): see scripts/run_exchange.cmake
function(weft_exchange_test name ranks data n m exit status)
  set(full exchange.launch.${name})
  weft_launch_test(${full} ${ranks} ${exit} run_exchange -D DATA=${data} -D N=${n} -D M=${m} -D STATUS=${status} ${ARGN})
  set_tests_properties(${full}.${ranks} PROPERTIES FIXTURES_REQUIRED weft_keys)
endfunction()

set(weft_keys -D KEYS=${CMAKE_CURRENT_BINARY_DIR}/keys.npy)
foreach(ranks 1 3 8)
  weft_exchange_test(contention ${ranks} contention 576 16 0 ok)
  foreach(data uniform skewed reverse)
    weft_exchange_test(${data} ${ranks} ${data} 1001 3 0 ok)
  endforeach()
  weft_exchange_test(file ${ranks} file 1001 2 0 ok ${weft_keys})
endforeach()
foreach(ranks 2 4)
  weft_exchange_test(contention-corrupt ${ranks} contention 576 16 3 invalid -D PLANT=corrupt -D REASON=expected)
  foreach(data uniform skewed reverse)
    weft_exchange_test(${data}-corrupt ${ranks} ${data} 1001 3 3 invalid -D PLANT=corrupt -D REASON=expected)
  endforeach()
  weft_exchange_test(file-corrupt ${ranks} file 1001 1 3 invalid ${weft_keys} -D PLANT=corrupt)
endforeach()
weft_exchange_test(fewer-vectors-than-ranks 8 uniform 3 5 0 ok)
weft_exchange_test(no-vectors 2 contention 0 1 1 none "-DREASON=n = 0 is under 1")
weft_exchange_test(odd-n 2 contention 577 1 1 none "-DREASON=the nearest n that can is 576")
weft_exchange_test(short-file 2 file 1002 1 0 launch ${weft_keys} "-DREASON=holds 1001 keys where the study asks for n = 1002")
weft_exchange_test(no-file 2 file 10 1 0 launch -D KEYS=/nowhere/keys.npy "-DREASON=No such file")
weft_exchange_test(too-much 2 contention 4 1000000000000 0 fabric "-DREASON=smaller m")
weft_exchange_test(no-memory 2 contention 4000000 1000000 0 memory)

# Arrays of more than 2^31 bytes on each of two ranks, exchanged and proven: 10 GiB. `ctest -LE large` leaves them out.
weft_exchange_test(large-contention 2 contention 8 70500000 0 ok "-DEXTRA=calls C")
weft_exchange_test(large-sort 2 skewed 1000 580000 0 ok)
set_tests_properties(exchange.launch.large-contention.2 exchange.launch.large-sort.2
                     PROPERTIES LABELS large TIMEOUT 600 RUN_SERIAL TRUE)
