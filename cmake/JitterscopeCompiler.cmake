# Language and warnings of our own targets, and the sanitizers; none of it is passed on to a consumer.
add_library(jitterscope_warnings INTERFACE)
target_compile_features(jitterscope_warnings INTERFACE cxx_std_20)
target_compile_options(jitterscope_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${JITTERSCOPE_WERROR}>>:-Werror>)
# GCC collects its garbage whenever its heap has doubled; a group of eight files takes 1.4 GB at most without, and a
# tenth less time (GCC 12: 33 s in place of 37 for three of them).
target_compile_options(jitterscope_warnings INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1000000>)
if(CMAKE_UNITY_BUILD)
  # GCC takes a source for a header that others might include, and warns of what would be wrong there.
  target_compile_options(jitterscope_warnings INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()
add_library(jitterscope_compiler INTERFACE)
target_link_libraries(jitterscope_compiler INTERFACE jitterscope_warnings)
# For what links code that sanitizers search, and is not searched itself.
add_library(jitterscope_not_searched INTERFACE)
target_link_libraries(jitterscope_not_searched INTERFACE jitterscope_warnings)
set(JITTERSCOPE_SANITIZE_LEVEL -Og CACHE STRING "Optimisation of what sanitizers search")
if(JITTERSCOPE_SANITIZE)
  # The last level of optimisation counts. What is compiled without sanitizers has the options of the release, so that
  # ccache has it already.
  target_compile_options(jitterscope_compiler INTERFACE
    ${JITTERSCOPE_SANITIZE_LEVEL} -g1 -fsanitize=${JITTERSCOPE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(jitterscope_compiler INTERFACE -fsanitize=${JITTERSCOPE_SANITIZE})
  target_link_options(jitterscope_not_searched INTERFACE -fsanitize=${JITTERSCOPE_SANITIZE})
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
# thirds of the time. A file that is added moves no other folder's files to another group. CMake would write the groups
# into each build's own folder, where ccache takes them for different sources.
set(JITTERSCOPE_GROUPS ${PROJECT_BINARY_DIR}/groups CACHE PATH "Where files that are compiled as one are listed")

# jitterscope_grouped(RESULT NAME SOURCES…): what is compiled in place of these sources.
function(jitterscope_grouped result name)
  if(NOT CMAKE_UNITY_BUILD)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  list(LENGTH ARGN count)
  math(EXPR last "${count} - 1")
  set(groups)
  foreach(begin RANGE 0 ${last} 8)
    list(SUBLIST ARGN ${begin} 8 files)
    set(text "")
    foreach(file ${files})
      cmake_path(ABSOLUTE_PATH file NORMALIZE)
      file(RELATIVE_PATH file ${JITTERSCOPE_GROUPS} ${file})
      string(APPEND text "#include \"${file}\"\n")
    endforeach()
    # Builds that differ in a group's files do not share it.
    string(SHA256 digest "${text}")
    string(SUBSTRING ${digest} 0 8 digest)
    math(EXPR group "${begin} / 8")
    set(path ${JITTERSCOPE_GROUPS}/${name}_${group}_${digest}.cpp)
    file(CONFIGURE OUTPUT ${path} CONTENT "${text}" @ONLY)
    list(APPEND groups ${path})
  endforeach()
  set(${result} ${groups} PARENT_SCOPE)
endfunction()

# Sources of the library are grouped by folder when all are known: jitterscope_add_grouped.
function(jitterscope_group_by_folder target)
  foreach(source ${ARGN})
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(GET path PARENT_PATH folder)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    string(REGEX REPLACE "^src/commands/.*" "src/commands" folder ${folder})  # few files each
    string(MAKE_C_IDENTIFIER ${folder} folder)
    set_property(GLOBAL APPEND PROPERTY ${target}_${folder}_sources ${path})
    set_property(GLOBAL APPEND PROPERTY ${target}_folders ${folder})
  endforeach()
endfunction()
function(jitterscope_add_grouped target)
  get_property(folders GLOBAL PROPERTY ${target}_folders)
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    get_property(sources GLOBAL PROPERTY ${target}_${folder}_sources)
    jitterscope_grouped(groups ${folder} ${sources})
    target_sources(${target} PRIVATE ${groups})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
endfunction()

# Sources of the library.
function(jitterscope_sources)
  jitterscope_group_by_folder(jitterscope ${ARGN})
endfunction()

# Less optimisation for what reads flags and writes records, tables and pages once: a third less time to compile. The
# last level counts.
add_library(jitterscope_quickly_compiled INTERFACE)
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  target_compile_options(jitterscope_quickly_compiled INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
endif()
# Sources of the library that take no time when they run, and none of which starts a thread: the thread sanitizer does
# not search them.
function(jitterscope_quickly_compiled_sources)
  if(NOT TARGET jitterscope_words)
    add_library(jitterscope_words OBJECT)
    set_target_properties(jitterscope_words PROPERTIES POSITION_INDEPENDENT_CODE ON VISIBILITY_INLINES_HIDDEN ON)
    target_include_directories(jitterscope_words PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    set(options jitterscope_compiler jitterscope_quickly_compiled)
    if(JITTERSCOPE_SANITIZE STREQUAL "thread")
      set(options jitterscope_not_searched jitterscope_quickly_compiled)
    elseif(JITTERSCOPE_SANITIZE)
      set(options jitterscope_compiler)
    endif()
    target_link_libraries(jitterscope_words PRIVATE ${options} ${JITTERSCOPE_LIBRARIES})
    target_sources(jitterscope PRIVATE $<TARGET_OBJECTS:jitterscope_words>)
  endif()
  jitterscope_group_by_folder(jitterscope_words ${ARGN})
endfunction()
