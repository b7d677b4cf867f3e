// An NVRTC without a compiler: every source compiles to the same kernel of a pointer and an int, but one that
// names `undefined_name`.
#include <cstdio>
#include <cstring>
#include <string>

namespace {

constexpr int kSuccess = 0, kCompilation = 6;

struct Program {
  std::string source, file, kernel, log, code;
};

int give(const std::string& text, char* out) {
  std::memcpy(out, text.c_str(), text.size() + 1);
  return kSuccess;
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 7;
  return kSuccess;
}
const char* nvrtcGetErrorString(int) { return "a stand-in's error"; }
int nvrtcGetNumSupportedArchs(int* count) {
  *count = 2;
  return kSuccess;
}
int nvrtcGetSupportedArchs(int* architectures) {
  architectures[0] = 80;
  architectures[1] = 90;
  return kSuccess;
}
int nvrtcCreateProgram(Program** program, const char* source, const char* name, int, const char* const*,
                       const char* const*) {
  *program = new Program{source, name, "", "", ""};
  return kSuccess;
}
int nvrtcDestroyProgram(Program** program) {
  delete *program;
  return kSuccess;
}
int nvrtcAddNameExpression(Program* program, const char* name) {
  program->kernel = name;
  return kSuccess;
}
int nvrtcCompileProgram(Program* program, int, const char* const*) {
  if (program->source.find("undefined_name") != std::string::npos) {
    program->log = program->file + "(1): error: identifier \"undefined_name\" is undefined\n";
    return kCompilation;
  }
  program->code = ".entry " + program->kernel + "(\n\t.param .u64 .ptr .align 1 " + program->kernel +
                  "_param_0,\n\t.param .u32 " + program->kernel + "_param_1\n)\n";
  return kSuccess;
}
int nvrtcGetProgramLogSize(Program* program, std::size_t* size) {
  *size = program->log.size() + 1;
  return kSuccess;
}
int nvrtcGetProgramLog(Program* program, char* log) { return give(program->log, log); }
int nvrtcGetCUBINSize(Program*, std::size_t* size) {
  *size = 0;
  return kSuccess;
}
int nvrtcGetCUBIN(Program*, char*) { return kSuccess; }
int nvrtcGetPTXSize(Program* program, std::size_t* size) {
  *size = program->code.size() + 1;
  return kSuccess;
}
int nvrtcGetPTX(Program* program, char* code) { return give(program->code, code); }
int nvrtcGetLoweredName(Program* program, const char*, const char** name) {
  *name = program->kernel.c_str();
  return kSuccess;
}
}
