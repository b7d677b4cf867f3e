# Writes INPUTS, one after the other, as one C++ raw string literal into OUTPUT.
set(text "")
foreach(input IN LISTS INPUTS)
  file(READ ${input} content)
  string(APPEND text "${content}\n")
endforeach()
file(WRITE ${OUTPUT} "R\"PYTHON(${text})PYTHON\"\n")
