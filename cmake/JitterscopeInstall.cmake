# cmake --install: the tool with its manual page and completions, the static library with its headers, and what
# find_package(jitterscope) reads. --component tool leaves the library out.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/jitterscope)
set(data_folder ${CMAKE_INSTALL_DATADIR}/jitterscope)

install(TARGETS jitterscope EXPORT jitterscopeTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS jitterscope_c LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS jitterscope_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/jitterscope DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/presets DESTINATION ${data_folder} COMPONENT tool
  FILES_MATCHING PATTERN "*.toml")
# Where scripts/vega-library could make it.
install(FILES ${PROJECT_BINARY_DIR}/report/vega.js DESTINATION ${data_folder}/report COMPONENT tool OPTIONAL)
file(GLOB schemas ${PROJECT_SOURCE_DIR}/docs/*.schema.json)
install(FILES ${schemas} DESTINATION ${data_folder}/schema COMPONENT tool)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tool)

# The program itself writes its manual page and completions, when it is installed: by then it is built.
install(CODE "foreach(page man bash zsh fish)
  execute_process(COMMAND \"$<TARGET_FILE:jitterscope_cli>\" reference \${page}
    OUTPUT_FILE \"${PROJECT_BINARY_DIR}/reference.\${page}\" COMMAND_ERROR_IS_FATAL ANY)
endforeach()" COMPONENT tool)
function(install_reference page folder name)
  install(FILES ${PROJECT_BINARY_DIR}/reference.${page} DESTINATION ${folder} RENAME ${name} COMPONENT tool)
endfunction()
install_reference(man ${CMAKE_INSTALL_MANDIR}/man1 jitterscope.1)
install_reference(bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions jitterscope)
install_reference(zsh ${CMAKE_INSTALL_DATADIR}/zsh/site-functions _jitterscope)
install_reference(fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d jitterscope.fish)

install(EXPORT jitterscopeTargets NAMESPACE jitterscope:: DESTINATION ${package_folder})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/jitterscopeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/jitterscopeConfig.cmake INSTALL_DESTINATION ${package_folder})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/jitterscopeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/jitterscopeConfig.cmake ${PROJECT_BINARY_DIR}/jitterscopeConfigVersion.cmake
  DESTINATION ${package_folder})
if(TARGET jitterscope_recorder)
  install(TARGETS jitterscope_recorder jitterscope_calls LIBRARY DESTINATION lib/jitterscope COMPONENT tool)
endif()
if(JITTERSCOPE_HAS_TORCH)
  install(TARGETS jitterscope_torch LIBRARY DESTINATION lib/jitterscope)
endif()
