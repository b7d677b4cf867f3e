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
  # GCC warns of std::regex in such a build: its manual says that sanitizers bring false alarms of this one warning
  # (bug 105562). The release build, where they do not occur, still has it.
  target_compile_options(jitterscope_compiler INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
endif()
if(JITTERSCOPE_FUZZ)
  # libFuzzer follows the coverage of what it calls; only the fuzzers themselves link its main().
  target_compile_options(jitterscope_compiler INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()
