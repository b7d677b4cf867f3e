#pragma once

#include <array>
#include <string_view>

namespace jitterscope {

// Each reads any input and aborts where what must hold of what was read does not.
void fuzz_capture(std::string_view input);
void fuzz_capture_tables(std::string_view input);
void fuzz_cublas_log(std::string_view input);
void fuzz_cublaslt_log(std::string_view input);
void fuzz_cudnn_frontend_log(std::string_view input);
void fuzz_cudnn_log(std::string_view input);
void fuzz_execution_trace(std::string_view input);
void fuzz_model(std::string_view input);
void fuzz_nsight_systems(std::string_view input);
void fuzz_onnx(std::string_view input);
void fuzz_operation(std::string_view input);
void fuzz_plan(std::string_view input);
void fuzz_preset(std::string_view input);
void fuzz_profiler_trace(std::string_view input);
void fuzz_rank_message(std::string_view input);
void fuzz_record(std::string_view input);

struct Fuzzer {
  std::string_view name;  ///< also its folder in corpus/
  void (*run)(std::string_view input);
};

inline constexpr std::array kFuzzers = {
    Fuzzer{"capture", fuzz_capture},
    Fuzzer{"capture_tables", fuzz_capture_tables},
    Fuzzer{"cublas_log", fuzz_cublas_log},
    Fuzzer{"cublaslt_log", fuzz_cublaslt_log},
    Fuzzer{"cudnn_frontend_log", fuzz_cudnn_frontend_log},
    Fuzzer{"cudnn_log", fuzz_cudnn_log},
    Fuzzer{"execution_trace", fuzz_execution_trace},
    Fuzzer{"model", fuzz_model},
    Fuzzer{"nsight_systems", fuzz_nsight_systems},
    Fuzzer{"onnx", fuzz_onnx},
    Fuzzer{"operation", fuzz_operation},
    Fuzzer{"plan", fuzz_plan},
    Fuzzer{"preset", fuzz_preset},
    Fuzzer{"profiler_trace", fuzz_profiler_trace},
    Fuzzer{"rank_message", fuzz_rank_message},
    Fuzzer{"record", fuzz_record},
};

}  // namespace jitterscope
