# What `cmake --install` gives to other projects: the program, the libraries, the public headers, and
# find_package(pgflow) with the targets pgflow::dsl and pgflow::worker and the function pgflow_add_flow.
include(CMakePackageConfigHelpers)

# pgflow::worker and all that it stands on; the public names are dsl and worker, the others are theirs.
set(libraries base json flow log uv pg contract sql store local_pg worker)
foreach(library IN LISTS libraries)
  set_target_properties(pgflow_${library} PROPERTIES EXPORT_NAME ${library})
endforeach()
set_target_properties(pgflow_flow PROPERTIES EXPORT_NAME dsl)
list(TRANSFORM libraries PREPEND pgflow_)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/pgflow)
install(TARGETS ${libraries} EXPORT pgflow ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/pgflow
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY common/include/pgflow worker/include/pgflow DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT pgflow NAMESPACE pgflow:: FILE pgflow-targets.cmake DESTINATION ${package_folder})
configure_package_config_file(common/cmake/pgflow-config.cmake.in ${PROJECT_BINARY_DIR}/pgflow-config.cmake
  INSTALL_DESTINATION ${package_folder})
# Before 1.0 a minor version may change what a flow's program is compiled against.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pgflow-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/pgflow-config.cmake
  ${PROJECT_BINARY_DIR}/pgflow-config-version.cmake
  common/cmake/Findlibuv.cmake
  common/cmake/pgflow_add_flow.cmake
  DESTINATION ${package_folder})

# The build folder is such a prefix too: who has its bin/ on the PATH needs no installation.
export(EXPORT pgflow NAMESPACE pgflow:: FILE ${PROJECT_BINARY_DIR}/pgflow-targets.cmake)
file(COPY common/cmake/Findlibuv.cmake common/cmake/pgflow_add_flow.cmake DESTINATION ${PROJECT_BINARY_DIR})
