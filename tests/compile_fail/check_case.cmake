# Compiles one case of cases.txt and checks what the compiler says: that it refuses, the message, the user's line, and
# that one mistake is one error.
#
#   cmake -D CASE=… -D COMPILER=… -D INCLUDES=… -D CASES=… -D PRELUDE=… -D FOLDER=… -P check_case.cmake
#
# cases.txt:   == name [warning] [errors=N]
#              > part of the expected message
#              code, one line

file(READ "${CASES}" text)
string(FIND "${text}" "\n== ${CASE}\n" begin)
if(begin EQUAL -1)
  string(FIND "${text}" "\n== ${CASE} " begin)
endif()
math(EXPR begin "${begin} + 1")
string(SUBSTRING "${text}" ${begin} -1 text)
string(REGEX MATCH "^== ([^\n]*)\n> ([^\n]*)\n([^\n]*)\n" whole "${text}")
set(heading "${CMAKE_MATCH_1}")
set(expected "${CMAKE_MATCH_2}")
set(code "${CMAKE_MATCH_3}")
if(NOT whole)
  message(FATAL_ERROR "cases.txt has no well-formed case ${CASE}")
endif()

set(errors_wanted 1)
set(flags "")
if(heading MATCHES "errors=([0-9]+)")
  set(errors_wanted ${CMAKE_MATCH_1})
elseif(heading MATCHES "warning")
  set(flags -Werror=unused-result)
endif()

set(source "${FOLDER}/${CASE}.cpp")
file(WRITE "${source}" "#include \"${PRELUDE}\"\nvoid test() {\n  [[maybe_unused]] auto b = base();\n  ${code}\n}\n")
separate_arguments(includes UNIX_COMMAND "${INCLUDES}")
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C "${COMPILER}" -std=c++20 -fsyntax-only ${flags} ${includes} "${source}"
  RESULT_VARIABLE code_of_compiler ERROR_VARIABLE said OUTPUT_VARIABLE said)

# Printed as it is: message(FATAL_ERROR) would wrap the compiler's lines.
macro(wrong what)
  message(NOTICE "${said}")
  message(FATAL_ERROR "${CASE}: ${what}")
endmacro()

if(code_of_compiler EQUAL 0)
  wrong("it compiles, but must not")
endif()
string(FIND "${said}" "${expected}" at)
if(at EQUAL -1)
  wrong("the message lacks \"${expected}\"")
endif()
if(NOT said MATCHES "${CASE}\\.cpp:4:")
  wrong("the message does not name the user's line")
endif()
string(REGEX MATCHALL " error: " errors "${said}")
list(LENGTH errors count)
if(NOT count EQUAL errors_wanted)
  wrong("${count} errors instead of ${errors_wanted}")
endif()
