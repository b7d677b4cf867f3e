# Files that the program carries with it: SOURCE, of the library, includes each as FILE.inc, a string literal.
function(jitterscope_embed SOURCE)
  foreach(file ${ARGN})
    set(literal ${CMAKE_CURRENT_BINARY_DIR}/${file}.inc)
    add_custom_command(OUTPUT ${literal}
      COMMAND ${CMAKE_COMMAND} -DOUTPUT=${literal} -DINPUT=${CMAKE_CURRENT_SOURCE_DIR}/${file}
              -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
      DEPENDS ${file} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
      VERBATIM)
    list(APPEND literals ${literal})
  endforeach()
  # A target of its own: the library's folder is another one, which knows nothing of how the literals are made.
  file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${SOURCE})
  string(MAKE_C_IDENTIFIER jitterscope_${name} target)
  add_library(${target} OBJECT ${SOURCE} ${literals})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_sources(jitterscope PRIVATE $<TARGET_OBJECTS:${target}>)
endfunction()
