# Language, warnings and sanitizers of our own targets; never passed on to a consumer.
add_library(jitterscope_compiler INTERFACE)
target_compile_features(jitterscope_compiler INTERFACE cxx_std_20)
target_compile_options(jitterscope_compiler INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${JITTERSCOPE_WERROR}>>:-Werror>)
if(JITTERSCOPE_SANITIZE)
  target_compile_options(jitterscope_compiler INTERFACE
    -fsanitize=${JITTERSCOPE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(jitterscope_compiler INTERFACE -fsanitize=${JITTERSCOPE_SANITIZE})
endif()
if(JITTERSCOPE_FUZZ)
  # libFuzzer follows the coverage of what it calls; only the fuzzers themselves link its main().
  target_compile_options(jitterscope_compiler INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()
