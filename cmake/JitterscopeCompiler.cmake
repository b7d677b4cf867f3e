# Language, warnings and sanitizers of our own targets; never passed on to a consumer.
add_library(jitterscope_compiler INTERFACE)
target_compile_features(jitterscope_compiler INTERFACE cxx_std_20)
target_compile_options(jitterscope_compiler INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${JITTERSCOPE_WERROR}>>:-Werror>)
# GCC collects its garbage whenever its heap has doubled; a group of eight files takes 1.4 GB at most without, and a
# tenth less time (GCC 12: 33 s in place of 37 for three of them).
target_compile_options(jitterscope_compiler INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1000000>)
if(CMAKE_UNITY_BUILD)
  # GCC takes a source for a header that others might include, and warns of what would be wrong there.
  target_compile_options(jitterscope_compiler INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()
if(JITTERSCOPE_SANITIZE)
  target_compile_options(jitterscope_compiler INTERFACE
    -fsanitize=${JITTERSCOPE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(jitterscope_compiler INTERFACE -fsanitize=${JITTERSCOPE_SANITIZE})
  # A check at each access through a pointer is a quarter of the time to compile (GCC 12). The address sanitizer reports
  # a null pointer as well; what clang builds, the fuzzers, has all of them.
  if(JITTERSCOPE_SANITIZE MATCHES "undefined")
    target_compile_options(jitterscope_compiler INTERFACE
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-sanitize=null,alignment,vptr,object-size>)
  endif()
  # GCC warns of std::regex in such a build: its manual says that sanitizers bring false alarms of this one warning
  # (bug 105562). The release build, where they do not occur, still has it.
  target_compile_options(jitterscope_compiler INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
endif()
if(JITTERSCOPE_FUZZ)
  # libFuzzer follows the coverage of what it calls; only the fuzzers themselves link its main().
  target_compile_options(jitterscope_compiler INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()

# In a unity build, eight files of one folder are compiled as one: what they include is then read once, which saves two
# thirds of the time. A file that is added moves no other folder's files to another group.
function(jitterscope_group_by_folder target)
  foreach(source ${ARGN})
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(GET path PARENT_PATH folder)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    string(REGEX REPLACE "^src/commands/.*" "src/commands" folder ${folder})  # few files each
    string(MAKE_C_IDENTIFIER ${folder} folder)
    get_property(count GLOBAL PROPERTY ${target}_${folder}_sources)
    math(EXPR group "0${count} / 8")
    math(EXPR count "0${count} + 1")
    set_property(GLOBAL PROPERTY ${target}_${folder}_sources ${count})
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${folder}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# Sources of the library.
function(jitterscope_sources)
  target_sources(jitterscope PRIVATE ${ARGN})
  jitterscope_group_by_folder(jitterscope ${ARGN})
endfunction()

# Less optimisation for what reads flags and writes records, tables and pages once: a third less time to compile. The
# last level counts.
add_library(jitterscope_quickly_compiled INTERFACE)
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" AND NOT JITTERSCOPE_SANITIZE)
  target_compile_options(jitterscope_quickly_compiled INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
endif()
# Sources of the library that take no time when they run.
function(jitterscope_quickly_compiled_sources)
  if(NOT TARGET jitterscope_words)
    add_library(jitterscope_words OBJECT)
    set_target_properties(jitterscope_words PROPERTIES POSITION_INDEPENDENT_CODE ON VISIBILITY_INLINES_HIDDEN ON)
    target_include_directories(jitterscope_words PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(jitterscope_words
      PRIVATE jitterscope_compiler jitterscope_quickly_compiled ${JITTERSCOPE_LIBRARIES})
    target_sources(jitterscope PRIVATE $<TARGET_OBJECTS:jitterscope_words>)
  endif()
  target_sources(jitterscope_words PRIVATE ${ARGN})
  jitterscope_group_by_folder(jitterscope_words ${ARGN})
endfunction()
