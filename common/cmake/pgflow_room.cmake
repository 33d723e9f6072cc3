# What every target of ours shares: warnings, sanitizers, include roots; and the two shapes of target we build.

# Warnings and sanitizers, for our own targets only (never forced on a project that embeds us).
function(pgflow_compile_rules target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
  # g++ 12 reports -Wrestrict inside libstdc++ for `"literal" + std::string` (GCC bug 105651).
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
  # The reflection of <pgflow/json.hpp> names variables that are never defined; and what a designated initializer leaves
  # out has its default. libstdc++ 12 calls a function of its own deprecated. Clang's -Wconversion means the sign too.
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:Clang>:-Wno-undefined-var-template$<SEMICOLON>-Wno-missing-designated-field-initializers>
    $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations$<SEMICOLON>-Wno-sign-conversion>)
  if(PGFLOW_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(PGFLOW_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${PGFLOW_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${PGFLOW_SANITIZE})
    # g++ 12 sees uninitialized members inside libstdc++'s <regex> once sanitizers are on (GCC bug 105562).
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    if(PGFLOW_SANITIZE MATCHES "undefined")
      target_compile_options(${target} PRIVATE -fno-sanitize-recover=all)
    endif()
  endif()
endfunction()

# pgflow_room(<name> SOURCES … LINKS …): the static library pgflow_<name>. LINKS are public: a room's
# headers show the rooms that it may use (CONTRIBUTING.md has the map, `./dev lint` checks it).
function(pgflow_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(pgflow_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(pgflow_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/common/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(pgflow_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/common>)
  target_link_libraries(pgflow_${name} PUBLIC ${ROOM_LINKS} PRIVATE ${ROOM_PRIVATE_LINKS})
  target_compile_features(pgflow_${name} PUBLIC cxx_std_20)
  set_target_properties(pgflow_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  pgflow_compile_rules(pgflow_${name})
endfunction()
