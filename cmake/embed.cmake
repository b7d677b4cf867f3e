# Writes INPUT as one C++ raw string literal into OUTPUT.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "R\"EMBEDDED(${text})EMBEDDED\"\n")
