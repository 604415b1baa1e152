# pawl_module(name DEPS modules… LIBS libraries… SRCS files… STATE_SRCS files…
#             TESTS files… TEST_SUPPORT files… TEST_DEPS modules… FUZZ files… FUZZ_SUPPORT files…)
#
# One folder of src/ = one static library. Two guards keep the layers apart: a dependency must already
# have been added (src/CMakeLists.txt lists modules from the ground up), and a module sees only the headers of its
# declared dependencies, since each has its own include root.
#
# What tests are built on (worlds, fixtures, oracles) stands in the module's folder testing/ and is a library of its own,
# pawl_<name>_testing, from TEST_SUPPORT. The module's test program links it, and that of TEST_DEPS: modules below whose
# test support it uses too. FUZZ_SUPPORT names the files of TEST_SUPPORT that a fuzzer needs; they stand without GTest.
#
# STATE_SRCS are those source files that read the kernel's state (they include kernel/state.h or kernel/frame.h, themselves
# or by another header), where the module has many others: in groups of their own, so that a change of these headers
# compiles only them.
#
# How a cold build stays short (figures in docs/adr/0012-build-time.md):
# - PAWL_UNITY compiles up to PAWL_UNITY_FILES files of a module as one, so that its headers are parsed and its
#   templates made once for all of them. So names in anonymous namespaces are unique within a module.
# - The standard library's headers are parsed once for the whole tree (pawl_standard_headers).
# The builds of the fuzzers and of lint use neither, so they find files that rely on another file's includes.
set(PAWL_STANDARD_HEADERS <algorithm> <array> <atomic> <charconv> <condition_variable> <cstdint> <cstring> <deque> <functional> <map>
  <memory> <mutex> <optional> <set> <span> <string> <string_view> <thread> <tuple> <utility> <variant> <vector> <fmt/format.h>)

# A target with a precompiled header for others: its users must be compiled with the same flags.
function(pawl_header_holder name)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cc CONTENT "// holds a precompiled header\n")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE fmt::fmt)
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()

# What every request passes. A group of files is a large unit to the compiler, which then inlines less than it does in
# single files: a push in a batch cost 9 % more instructions. In these modules it may inline as much as in files of their
# own. A precompiled header brings its own parameters along, so they have one of their own.
set(PAWL_HOT_MODULES base journal plan kernel wire store store_postgres engine http api)
set(PAWL_HOT_OPTIONS "")
if(PAWL_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(PAWL_HOT_OPTIONS --param=large-unit-insns=1000000)
endif()

# What no request passes. Optimizing it as much as the rest would be a third of its time to compile, and these modules read
# what the kernel's headers declare, so each change of one would pay for it.
set(PAWL_COLD_MODULES cli sim rehearse main)
set(PAWL_COLD_OPTIONS "")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(PAWL_COLD_OPTIONS -O1)
endif()

if(PAWL_UNITY)
  pawl_header_holder(pawl_standard_headers ${PAWL_STANDARD_HEADERS})
  pawl_header_holder(pawl_cold_headers ${PAWL_STANDARD_HEADERS})
  target_compile_options(pawl_cold_headers PRIVATE ${PAWL_COLD_OPTIONS})
  pawl_header_holder(pawl_hot_headers ${PAWL_STANDARD_HEADERS})
  target_compile_options(pawl_hot_headers PRIVATE ${PAWL_HOT_OPTIONS})
  if(PAWL_TESTS)
    pawl_header_holder(pawl_test_headers ${PAWL_STANDARD_HEADERS} <gtest/gtest.h>)
    target_link_libraries(pawl_test_headers PRIVATE GTest::gtest)
    target_compile_options(pawl_test_headers PRIVATE -O0)
  endif()
endif()

# pawl_fast_build(target holder): unity builds and the precompiled header, where enabled.
function(pawl_fast_build target holder)
  if(PAWL_UNITY)
    target_precompile_headers(${target} REUSE_FROM ${holder})
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${PAWL_UNITY_FILES})
  endif()
endfunction()

# pawl_unity_groups(name files…): compiles them in groups of the same size. Their target has UNITY_BUILD_MODE GROUP.
function(pawl_unity_groups name)
  list(LENGTH ARGN count)
  math(EXPR groups "(${count} + ${PAWL_UNITY_FILES} - 1) / ${PAWL_UNITY_FILES}")
  set(at 0)
  foreach(file IN LISTS ARGN)
    math(EXPR group "${at} * ${groups} / ${count}")
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${name}_${group})
    math(EXPR at "${at} + 1")
  endforeach()
endfunction()

function(pawl_test_code target)
  target_compile_options(${target} PRIVATE -O0)  # only the tested code is optimized
  pawl_fast_build(${target} pawl_test_headers)
endfunction()

set(PAWL_INCLUDE_ROOT ${CMAKE_BINARY_DIR}/include)

function(pawl_include_root name)
  set(root ${PAWL_INCLUDE_ROOT}/${name})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/${name} SYMBOLIC)
  target_include_directories(pawl_${name} PUBLIC ${root})
endfunction()

function(pawl_module name)
  cmake_parse_arguments(M "" "" "DEPS;LIBS;SRCS;STATE_SRCS;TESTS;TEST_SUPPORT;TEST_DEPS;FUZZ;FUZZ_SUPPORT" ${ARGN})
  add_library(pawl_${name} STATIC ${M_SRCS} ${M_STATE_SRCS})
  foreach(dep ${M_DEPS})
    if(NOT TARGET pawl_${dep})
      message(FATAL_ERROR "${name} depends on ${dep}, which src/CMakeLists.txt does not list before it")
    endif()
    target_link_libraries(pawl_${name} PUBLIC pawl_${dep})
  endforeach()
  target_link_libraries(pawl_${name} PUBLIC ${M_LIBS})
  pawl_include_root(${name})
  if(name IN_LIST PAWL_HOT_MODULES)
    pawl_fast_build(pawl_${name} pawl_hot_headers)
    target_compile_options(pawl_${name} PRIVATE ${PAWL_HOT_OPTIONS})
  elseif(name IN_LIST PAWL_COLD_MODULES)
    pawl_fast_build(pawl_${name} pawl_cold_headers)
    target_compile_options(pawl_${name} PRIVATE ${PAWL_COLD_OPTIONS})
  else()
    pawl_fast_build(pawl_${name} pawl_standard_headers)
  endif()
  if(M_STATE_SRCS)
    set_target_properties(pawl_${name} PROPERTIES UNITY_BUILD_MODE GROUP)
    pawl_unity_groups(state ${M_STATE_SRCS})
    pawl_unity_groups(other ${M_SRCS})
  endif()

  if(PAWL_TESTS)
    set(support "")
    foreach(dep ${M_TEST_DEPS})
      if(NOT TARGET pawl_${dep}_testing)
        message(FATAL_ERROR "${name} has ${dep} in TEST_DEPS, which has no TEST_SUPPORT or is not listed before it")
      endif()
      list(APPEND support pawl_${dep}_testing)
    endforeach()
    if(M_TEST_SUPPORT)
      add_library(pawl_${name}_testing STATIC ${M_TEST_SUPPORT})
      target_link_libraries(pawl_${name}_testing PUBLIC pawl_${name} ${support} GTest::gtest)
      pawl_test_code(pawl_${name}_testing)
      set(support pawl_${name}_testing)
    endif()
    if(M_TESTS)
      add_executable(${name}_test ${M_TESTS})
      target_link_libraries(${name}_test PRIVATE ${support} pawl_${name} GTest::gtest_main)
      pawl_test_code(${name}_test)
      add_test(NAME ${name}_test COMMAND ${name}_test --gtest_brief=1)
      set_tests_properties(${name}_test PROPERTIES WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    endif()
  endif()
  foreach(file ${M_FUZZ})  # tests/corpus_test.cc replays their inputs
    set_property(GLOBAL APPEND PROPERTY PAWL_FUZZ_FILES ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    set_property(GLOBAL APPEND PROPERTY PAWL_FUZZ_MODULES pawl_${name})
  endforeach()
  if(M_FUZZ_SUPPORT)
    set_property(GLOBAL APPEND PROPERTY PAWL_FUZZ_MODULES pawl_${name}_testing)
  endif()
  if(PAWL_FUZZ)
    foreach(file ${M_FUZZ})
      get_filename_component(fuzzer ${file} NAME_WE)
      add_executable(${fuzzer} ${file} ${M_FUZZ_SUPPORT})
      target_compile_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
      target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
      target_link_libraries(${fuzzer} PRIVATE pawl_${name})
    endforeach()
  endif()
endfunction()
