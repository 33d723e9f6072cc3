# pgflow_add_flow(<target>): the executable is a program of flows. Links it to pgflow::worker, and describes its flows
# after each link into <target>.manifest.json beside it: what only run time can know (a slug, an option, a raw pattern)
# fails the build too.
set(PGFLOW_ADD_FLOW_FILE ${CMAKE_CURRENT_LIST_FILE} CACHE INTERNAL "")

function(pgflow_add_flow target)
  target_link_libraries(${target} PRIVATE pgflow::worker)
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND}
      -D PROGRAM=$<TARGET_FILE:${target}>
      -D MANIFEST=$<TARGET_FILE_DIR:${target}>/${target}.manifest.json
      -P ${PGFLOW_ADD_FLOW_FILE}
    VERBATIM)
endfunction()

# Run as a script, which writes nothing when the program refuses its own flow.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  execute_process(COMMAND ${PROGRAM} --pgflow-describe OUTPUT_VARIABLE lines RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    file(REMOVE ${MANIFEST})
    message(FATAL_ERROR "${PROGRAM} --pgflow-describe ended with ${code}; the reason stands above")
  endif()
  file(WRITE ${MANIFEST} "${lines}")
endif()
