/* Interface of jitterscope's plug-in for PyTorch: plain C, so that neither side needs the other's C++. */
#ifndef JITTERSCOPE_TORCH_PLUGIN_INTERFACE_H
#define JITTERSCOPE_TORCH_PLUGIN_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Increases with every change below. */
#define JITTERSCOPE_TORCH_INTERFACE_VERSION 2
#define JITTERSCOPE_TORCH_SYMBOL "jitterscope_torch_plugin"
/* Begins a string in the file, "…torch=2.11.0;cuda=13.0;abi=1;interface=2;folder=/…/torch/lib;", which tells
   the build of a plug-in that cannot be opened. */
#define JITTERSCOPE_TORCH_MARKER "jitterscope-torch-plugin:"

typedef struct JitterscopeTorchOperation JitterscopeTorchOperation;

typedef enum JitterscopeTorchResult {
  JITTERSCOPE_TORCH_DONE = 0,
  JITTERSCOPE_TORCH_USAGE = 1,   /* the operator, its arguments or the request is impossible */
  JITTERSCOPE_TORCH_MISSING = 2, /* this PyTorch, or its part for the device, is not there */
  JITTERSCOPE_TORCH_FAILED = 3   /* the operator failed while it ran */
} JitterscopeTorchResult;

typedef struct JitterscopeTorchRegion {
  void* address;
  int64_t bytes;
} JitterscopeTorchRegion;

typedef struct JitterscopeTorchGiven {
  void* address; /* null: the tensor gets memory of its own */
  int is_filled; /* not 0: it holds the values that the operator is to read */
} JitterscopeTorchGiven;

typedef struct JitterscopeTorchRequest {
  const char* operation;   /* text of Operation::text() */
  const char* device_type; /* cpu or cuda */
  int ordinal;             /* number of the GPU */
  void* stream;          /* CUstream on which inputs are filled and the operator runs once; null on the cpu */
  const char* data_kind; /* normal, uniform, zeros, ones or sparse */
  uint64_t seed;
  /* Memory for the tensors among the arguments, in their order. It must outlive the operation. Tensors after
     the last entry get their own memory. */
  const JitterscopeTorchGiven* given;
  size_t given_count;
} JitterscopeTorchRequest;

/* Each function that can fail writes one sentence to `error`, cut to `error_size` with its terminating zero.
 */
typedef struct JitterscopeTorchPlugin {
  uint32_t interface_version; /* first in every version */
  const char* torch_version;
  const char* cuda_version; /* empty if built without CUDA */
  int cxx11_abi;            /* _GLIBCXX_USE_CXX11_ABI */

  /* Allocates and fills the inputs, and runs the operator so that its workspaces exist. */
  JitterscopeTorchResult (*prepare)(const JitterscopeTorchRequest* request,
                                    JitterscopeTorchOperation** operation, char* error, size_t error_size);
  void (*destroy)(JitterscopeTorchOperation* operation);
  JitterscopeTorchResult (*run)(JitterscopeTorchOperation* operation, void* stream, char* error,
                                size_t error_size);
  /* Writes every input anew with the values that it has. */
  JitterscopeTorchResult (*produce_inputs)(JitterscopeTorchOperation* operation, void* stream, char* error,
                                           size_t error_size);

  /* Returns the operator's name with the chosen overload. The text lives as long as the operation. */
  const char* (*schema_name)(const JitterscopeTorchOperation* operation);
  /* Returns not 0 if run() waits for the stream, as for an output whose size depends on the data. */
  int (*waits_for_stream)(const JitterscopeTorchOperation* operation);
  /* Lists inputs and the outputs of the last run. Returns their number and writes at most `capacity`. */
  size_t (*memory)(const JitterscopeTorchOperation* operation, JitterscopeTorchRegion* regions,
                   size_t capacity);
  /* Lists the tensors among the arguments in their order, then the outputs of the last run; the address is
     null if the next run may have another. Returns and writes as memory(). */
  size_t (*operands)(const JitterscopeTorchOperation* operation, JitterscopeTorchRegion* regions,
                     size_t capacity);
  /* Number of outputs of the last run, and of one's elements; negative if there is no such output. */
  size_t (*output_count)(const JitterscopeTorchOperation* operation);
  int64_t (*output_elements)(const JitterscopeTorchOperation* operation, size_t index);
  /* Writes elements row-major, of complex numbers only the real parts. Waits for the device. */
  JitterscopeTorchResult (*read_output)(JitterscopeTorchOperation* operation, size_t index, double* elements,
                                        char* error, size_t error_size);
} JitterscopeTorchPlugin;

/* Type of the only exported symbol. The struct lives as long as the library. */
typedef const JitterscopeTorchPlugin* (*JitterscopeTorchPluginFunction)(void);

#ifdef __cplusplus
}
#endif
#endif
