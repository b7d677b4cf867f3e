# cmake --install: the tool, the static library with its headers, and what find_package(jitterscope) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/jitterscope)

install(TARGETS jitterscope EXPORT jitterscopeTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS jitterscope_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/jitterscope DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/presets DESTINATION ${CMAKE_INSTALL_DATADIR}/jitterscope
  FILES_MATCHING PATTERN "*.toml")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/jitterscope/schema
  FILES_MATCHING PATTERN "*.schema.json")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT jitterscopeTargets NAMESPACE jitterscope:: DESTINATION ${package_folder})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/jitterscopeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/jitterscopeConfig.cmake INSTALL_DESTINATION ${package_folder})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/jitterscopeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/jitterscopeConfig.cmake ${PROJECT_BINARY_DIR}/jitterscopeConfigVersion.cmake
  DESTINATION ${package_folder})
if(JITTERSCOPE_HAS_TORCH)
  install(TARGETS jitterscope_torch LIBRARY DESTINATION lib/jitterscope)
endif()
