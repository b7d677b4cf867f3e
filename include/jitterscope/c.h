/* The C interface of jitterscope, for other languages: functions that take and return JSON (UTF-8). No C++
 * type and no exception crosses it. Functions that can fail return a status, the same as the command line's
 * exit code; jitterscope_last_error explains it. Text written to a `char**` must be freed by
 * jitterscope_free. */
#ifndef JITTERSCOPE_C_H
#define JITTERSCOPE_C_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define JITTERSCOPE_API __attribute__((visibility("default")))
#else
#define JITTERSCOPE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum jitterscope_status {
  JITTERSCOPE_DONE = 0,
  JITTERSCOPE_USAGE = 2,        /* the request cannot be understood or is impossible */
  JITTERSCOPE_MISSING = 3,      /* a device or a library is not available */
  JITTERSCOPE_FAILED = 5,       /* the work failed while it ran */
  JITTERSCOPE_INTERRUPTED = 130 /* stopped by jitterscope_progress before anything was measured */
} jitterscope_status;

/* A device with a queue and calibrated instruments. Use it from one thread at a time. */
typedef struct jitterscope_device jitterscope_device;

/* Size of a callable's `reason` buffer, including the final zero. */
enum { JITTERSCOPE_REASON_SIZE = 512 };

/* Puts one piece of work on `stream` (a CUstream on CUDA, null on a CPU). Returns 0 if done; else it failed,
 * and `reason` may say why. */
typedef int (*jitterscope_launch)(void* stream, char* reason, void* context);
/* Launches several times in a row, for callables that are expensive to call, such as an interpreter's
 * functions: on a CPU short ones are timed in groups. */
typedef int (*jitterscope_repeat)(void* stream, int64_t launches, char* reason, void* context);
/* Records one launch on `stream` and returns its graph (a CUgraph), which must stay until jitterscope_measure
 * returns. For callables whose memory belongs to a library that must know of recordings. Returns 0 if done;
 * else the work cannot be recorded. */
typedef int (*jitterscope_record)(void* stream, void** graph, char* reason, void* context);
/* Called between rounds, in the measuring thread, with the state of the measurement as JSON, or with null.
 * Any return value but 0 stops the measurement and keeps the rounds so far. */
typedef int (*jitterscope_progress)(const char* json, void* context);

typedef struct jitterscope_callable {
  const char* name;
  jitterscope_launch launch;
  jitterscope_repeat repeat; /* may be null: then launch is called repeatedly */
  jitterscope_record record; /* may be null: then launch is recorded */
  void* context;             /* passed to all three */
} jitterscope_callable;

/* Returns "0.1.0"; not to be freed. */
JITTERSCOPE_API const char* jitterscope_version(void);

/* Returns the error of this thread's last failed call: {"exit_code": 3, "message": "one sentence"}. Valid
 * until the thread's next call; not to be freed. */
JITTERSCOPE_API const char* jitterscope_last_error(void);

JITTERSCOPE_API void jitterscope_free(char* text);

/* Writes [{"id": "cuda:0", "name": …, "problem": ""}, …]; `problem` says why a device cannot be used. */
JITTERSCOPE_API int jitterscope_list_devices(char** json);

/* Opens auto, cpu or cuda:N and calibrates its instruments, which takes 0.2 s. */
JITTERSCOPE_API int jitterscope_open(const char* name, jitterscope_device** device);
/* Waits for the device's work and closes it. Null is allowed. */
JITTERSCOPE_API void jitterscope_close(jitterscope_device* device);
/* Writes the description of the device, as "device" in a record. */
JITTERSCOPE_API int jitterscope_describe(jitterscope_device* device, char** json);
/* Returns the stream with which callables are called, the same while the device is open. */
JITTERSCOPE_API int jitterscope_stream(jitterscope_device* device, void** stream);

/* Times callables; several are measured beside each other. `request` is {"options": {"caches": ["warm"],
 * "loads": ["burst"], "queue": "saturated", "precision": 0.005, …}, "title": …, "command_line": …}, with
 * options as under "asked" in a record; each is optional. `record` is what `jitterscope run --json` writes.
 * `progress` may be null. When it returns, no recording is left, and nothing is held or locked. */
JITTERSCOPE_API int jitterscope_measure(jitterscope_device* device, const char* request,
                                        const jitterscope_callable* callables, size_t count,
                                        jitterscope_progress progress, void* progress_context, char** record);

/* Finds the causes that change a callable's time. `request` is {"factors": ["idle", "cache"],
 * "time_limit_seconds": 180, "seed": 1, "command_line": …, "processes": [records of jitterscope_measure of
 * the same work in fresh processes], "program": path of the command line's program, for a process that works
 * beside the callable}; each is optional, and without factors all are tried. `progress` gets {"stage": …,
 * "share": of the whole}. `record` is what `jitterscope explain --json` writes. */
JITTERSCOPE_API int jitterscope_explain(jitterscope_device* device, const char* request,
                                        const jitterscope_callable* callable, jitterscope_progress progress,
                                        void* progress_context, char** record);

/* Judges remedies from a record of jitterscope_measure in one cache state: the first callable is the work as
 * it is now, each other one has a remedy. `request` is {"remedies": [{"study": "layout", "arm": "nhwc",
 * "place": "In PyTorch", "lines": […], "price": …, "work": 1, "relative_error": 1e-4, "memory_ratio": 0.5,
 * "is_wrong": false, "goes_before": "graph"}], "advice": the record of the steps before, "title", "goal",
 * "margin", "tolerance", "untried", "notes", "stage"}; only study and arm are required. `stage` is "step", or
 * "together" if the second callable is the first with all taken remedies. `record` is as `jitterscope advise
 * --json` writes it. */
JITTERSCOPE_API int jitterscope_advise(const char* measured, const char* request, char** record);

/* Writes what the command line prints for a record of any command. `page` is {"width": 100, "details": true,
 * "top": 10, "findings": "all"}; each is optional, and null is {}. */
JITTERSCOPE_API int jitterscope_show(const char* record, const char* page, char** text);
/* Writes the plots of a record, the main one first: [{"id": "distribution", "title": …, "caption": …, "spec":
 * …}]; each `spec` is a Vega-Lite 5 specification with its data. [] if the record is text only. */
JITTERSCOPE_API int jitterscope_plots(const char* record, char** json);

/* An input of a judged call. Integers are in [0, below), all others are times `scale`. */
typedef struct jitterscope_judged_input {
  const char* dtype;
  const char* family;
  const int64_t* shape;
  size_t dimensions;
  int64_t below;
  double scale;
  uint32_t index; /* its number among all inputs: each has values of its own */
} jitterscope_judged_input;

/* Fills an input with the values of its family that follow from a seed of 32 bytes, the same in the judge and
 * in what it judges. Fails if `bytes` is not the input's size. */
JITTERSCOPE_API int jitterscope_judge_fill(const jitterscope_judged_input* input, const unsigned char* seed,
                                           void* memory, size_t bytes);
/* Writes the digest, of 32 bytes, before the first call of a chain with this key of 32 bytes. The digest
 * before a call is the seed of its inputs. */
JITTERSCOPE_API int jitterscope_judge_first_digest(const unsigned char* key, unsigned char* digest);
/* Writes the digest, of 32 bytes, of a call's outputs, one behind the other, and of all calls before. */
JITTERSCOPE_API int jitterscope_judge_digest(const unsigned char* key, const unsigned char* before,
                                             const void* outputs, size_t bytes, unsigned char* digest);

/* What a forked worker of the judge is given: its descriptors, and limits in bytes, numbers and seconds.
 * `folder` becomes its working directory, with a file system of its own where the kernel allows one. */
typedef struct jitterscope_judged_place {
  int socket, errors, memory;
  const char* folder;
  const char *user, *group, *options; /* lines of uid_map and gid_map, options of its file systems */
  int64_t data, file, descriptors, core_seconds;
} jitterscope_judged_place;

/* Holds this process back for good: it writes to its place alone, looks into no other process and gains no
 * rights. `has` gets a bit for each thing that the kernel allowed. Its descriptors become 0, 2 and 3, and all
 * others are closed. */
JITTERSCOPE_API int jitterscope_judge_hold_back(const jitterscope_judged_place* place, int* has);

/* A chain of judged calls on a GPU, in the context that is current when it is opened. It stays as long as the
 * process. A stream is a CUstream; what is put on it waits for nothing. */
typedef struct jitterscope_judged_chain jitterscope_judged_chain;
/* `mailbox` is a page of 4096 bytes that the judge maps, too; a call's outputs have at most `most_bytes`. */
JITTERSCOPE_API int jitterscope_judge_open_chain(void* mailbox, size_t most_bytes,
                                                 jitterscope_judged_chain** chain);
/* Adds an input that each call has anew. */
JITTERSCOPE_API int jitterscope_judge_add_input(jitterscope_judged_chain* chain,
                                                const jitterscope_judged_input* input);
/* Holds the stream until the mailbox has the ticket, which is not 0, and begins a chain with the key there. */
JITTERSCOPE_API int jitterscope_judge_release(jitterscope_judged_chain* chain, void* stream, uint32_t ticket);
/* Fills all inputs, in the GPU's memory, for the next call. `memories` are as many as were added. */
JITTERSCOPE_API int jitterscope_judge_fill_all(jitterscope_judged_chain* chain, void* stream,
                                               void* const* memories);
/* Reads so many bytes of its own, so that the GPU's cache has nothing else. The first call allocates them. */
JITTERSCOPE_API int jitterscope_judge_evict(jitterscope_judged_chain* chain, void* stream, size_t bytes);
/* Keeps a copy of a call's outputs, one behind the other from `kept` on, an address that 64 divides, and
 * derives their digest. With a ticket that is not 0 the chain ends, and the mailbox gets digest and ticket. */
JITTERSCOPE_API int jitterscope_judge_keep(jitterscope_judged_chain* chain, void* stream,
                                           const void* const* outputs, const size_t* sizes, size_t count,
                                           void* kept, uint32_t ticket);

/* A kernel in the text of an operation, cuda:FILE.cu:KERNEL,grid=…, compiled for the GPU of the context that is
 * current. It stays as long as the process. */
typedef struct jitterscope_judged_kernel jitterscope_judged_kernel;
/* `buffers` gets its arguments in memory: [{"name": "x", "kind": "input", "dtype": "f32", "count": 4096}, …];
 * the kind is input, output or inout. */
JITTERSCOPE_API int jitterscope_judge_open_kernel(const char* text, jitterscope_judged_kernel** kernel,
                                                  char** buffers);
/* Puts it on the stream, with as many addresses as it has buffers. */
JITTERSCOPE_API int jitterscope_judge_launch(jitterscope_judged_kernel* kernel, void* stream,
                                             void* const* buffers);

#ifdef __cplusplus
}
#endif

#endif
