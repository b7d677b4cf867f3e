# JITTERSCOPE_PYTHON: a Python 3 that has jsonschema. Debian's python3-jsonschema belongs to /usr/bin/python3,
# which a newer one in /usr/local or a version manager often shadows, so that one is asked first.
if(NOT JITTERSCOPE_PYTHON)
  find_program(path_python NAMES python3 NO_CACHE)
  foreach(candidate /usr/bin/python3 ${path_python})
    execute_process(COMMAND ${candidate} -c "import jsonschema" RESULT_VARIABLE missing OUTPUT_QUIET ERROR_QUIET)
    if(missing EQUAL 0)
      set(JITTERSCOPE_PYTHON ${candidate} CACHE FILEPATH "A Python 3 that has the module jsonschema")
      break()
    endif()
  endforeach()
  if(NOT JITTERSCOPE_PYTHON)
    message(FATAL_ERROR "The tests need a Python 3 with the module jsonschema, and neither /usr/bin/python3 nor the "
      "python3 on PATH has it. Install python3-jsonschema (scripts/setup tests), or set JITTERSCOPE_PYTHON.")
  endif()
endif()
