# The version that the tool prints: that of the project, with the commit where the source is a git checkout
# (a tag named after the version is printed as the version alone). Only one file knows it, so that a commit
# compiles no more than that file anew.
set(JITTERSCOPE_VERSION ${PROJECT_VERSION})
find_package(Git QUIET)
if(Git_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=9 --exclude=*
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --exact-match --dirty --match v${PROJECT_VERSION}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE tag OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(commit AND NOT tag STREQUAL "v${PROJECT_VERSION}")
    string(REPLACE "-dirty" ".dirty" commit ${commit})
    string(APPEND JITTERSCOPE_VERSION "+g${commit}")
  endif()
  # Configure again after each commit.
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --path-format=absolute --git-path logs/HEAD
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE head_log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(EXISTS "${head_log}")
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${head_log})
  endif()
endif()

set(version_source ${PROJECT_SOURCE_DIR}/src/base/version.cpp)
target_sources(jitterscope PRIVATE ${version_source})
set_source_files_properties(${version_source} PROPERTIES
  COMPILE_DEFINITIONS "JITTERSCOPE_VERSION=\"${JITTERSCOPE_VERSION}\"")
