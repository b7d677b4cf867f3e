// The names of cuDNN's, cuBLASLt's and cuBLAS's functions, by LD_PRELOAD in front of the libraries' own: each
// goes to the recorder (preloaded_calls.cpp), which is preloaded, too. They are a library of their own, so
// that a capture without --calls puts nothing between a program and its libraries.

#if defined(__x86_64__)
#define JITTERSCOPE_JUMP "jmp "
#define JITTERSCOPE_THROUGH "@PLT"
#elif defined(__aarch64__)
#define JITTERSCOPE_JUMP "b "
#define JITTERSCOPE_THROUGH ""
#else
#error "a jump of this processor is missing"
#endif

// Arguments and stack stay as they are, whatever they are.
#define JITTERSCOPE_NAME(name)                                                             \
  asm(".text\n.globl " #name "\n.type " #name ", %function\n" #name ":\n" JITTERSCOPE_JUMP \
      "jitterscope_" #name JITTERSCOPE_THROUGH "\n.size " #name ", .-" #name "\n")

JITTERSCOPE_NAME(cudnnBackendCreateDescriptor);
JITTERSCOPE_NAME(cudnnBackendDestroyDescriptor);
JITTERSCOPE_NAME(cudnnBackendSetAttribute);
JITTERSCOPE_NAME(cudnnBackendGetAttribute);
JITTERSCOPE_NAME(cudnnBackendExecute);
JITTERSCOPE_NAME(cublasLtMatmul);
JITTERSCOPE_NAME(cublasGemmEx);
JITTERSCOPE_NAME(cublasGemmStridedBatchedEx);
JITTERSCOPE_NAME(cublasGemmBatchedEx);
JITTERSCOPE_NAME(cublasSgemm_v2);
JITTERSCOPE_NAME(cublasDgemm_v2);
JITTERSCOPE_NAME(cublasHgemm);
JITTERSCOPE_NAME(cublasSgemmStridedBatched);
JITTERSCOPE_NAME(cublasDgemmStridedBatched);
JITTERSCOPE_NAME(cublasHgemmStridedBatched);
