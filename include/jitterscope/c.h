/* The library for other languages: C functions, JSON in and out. No C++ type and no exception crosses. Every function
 * that can fail returns a status, the exit code of the command line for the same thing; jitterscope_last_error says
 * what is wrong. Text is UTF-8. What a function writes to a `char**` is freed by jitterscope_free. */
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
  JITTERSCOPE_USAGE = 2,        /* what was asked cannot be understood or cannot exist */
  JITTERSCOPE_MISSING = 3,      /* a device or a library is not there */
  JITTERSCOPE_FAILED = 5,       /* the work failed while it ran */
  JITTERSCOPE_INTERRUPTED = 130 /* jitterscope_progress said so before anything was measured */
} jitterscope_status;

/* A device with its queue, its instruments calibrated. Of one thread at a time. */
typedef struct jitterscope_device jitterscope_device;

/* Room for why a callable could not do its work, its final zero included. */
enum { JITTERSCOPE_REASON_SIZE = 512 };

/* Puts one piece of work on `stream` (a CUstream on CUDA, null on a CPU). 0: done; else it failed, and `reason` may
 * say why. */
typedef int (*jitterscope_launch)(void* stream, char* reason, void* context);
/* As many launches in a row, for callables that cost something to call, as functions of an interpreter do: short ones
 * are timed in groups on a CPU. */
typedef int (*jitterscope_repeat)(void* stream, int64_t launches, char* reason, void* context);
/* Records one launch on `stream` and gives its graph (a CUgraph), which must stay until jitterscope_measure returns.
 * For callables whose memory belongs to a library that must know of recordings. 0: done; else it cannot be recorded. */
typedef int (*jitterscope_record)(void* stream, void** graph, char* reason, void* context);
/* Called between rounds, in the thread that measures, with what a live line shows as JSON, or with null. Other than 0:
 * stop, and keep what there is. */
typedef int (*jitterscope_progress)(const char* json, void* context);

typedef struct jitterscope_callable {
  const char* name;
  jitterscope_launch launch;
  jitterscope_repeat repeat; /* may be null: launch is called so often */
  jitterscope_record record; /* may be null: launch is recorded */
  void* context;             /* given to all */
} jitterscope_callable;

/* "0.1.0"; not to be freed. */
JITTERSCOPE_API const char* jitterscope_version(void);

/* What went wrong in this thread's last call that failed: {"exit_code": 3, "message": "one sentence"}. Stays until the
 * thread's next call; not to be freed. */
JITTERSCOPE_API const char* jitterscope_last_error(void);

JITTERSCOPE_API void jitterscope_free(char* text);

/* [{"id": "cuda:0", "name": …, "problem": ""}, …]: the problem says why one cannot be used. */
JITTERSCOPE_API int jitterscope_list_devices(char** json);

/* Opens auto, cpu or cuda:N and calibrates its instruments, 0.2 s. */
JITTERSCOPE_API int jitterscope_open(const char* name, jitterscope_device** device);
/* Waits for the device's work. Null is passed over. */
JITTERSCOPE_API void jitterscope_close(jitterscope_device* device);
/* As "device" in a record. */
JITTERSCOPE_API int jitterscope_describe(jitterscope_device* device, char** json);
/* That callables are called with, the same for as long as the device is open. */
JITTERSCOPE_API int jitterscope_stream(jitterscope_device* device, void** stream);

/* Times callables, beside each other where there are several. `request` is {"options": {"caches": ["warm"], "loads":
 * ["burst"], "queue": "saturated", "precision": 0.005, …}, "title": …, "command_line": …}; options as they stand in a
 * record under "asked", and each may be left out. `record` is what `jitterscope run --json` writes. `progress` may be
 * null. Nothing is recorded, held or locked any more when it returns. */
JITTERSCOPE_API int jitterscope_measure(jitterscope_device* device, const char* request,
                                        const jitterscope_callable* callables, size_t count,
                                        jitterscope_progress progress, void* progress_context, char** record);

/* Which causes move a callable's time. `request` is {"factors": ["idle", "cache"], "time_limit_seconds": 180, "seed": 1,
 * "command_line": …, "processes": [records of jitterscope_measure of the same work in fresh processes], "program": path of
 * the command line's program, for a process that works beside the callable}; each may be left out, and without factors
 * all are tried. `progress` is given {"stage": …, "share": of the whole}. `record` is what
 * `jitterscope explain --json` writes. */
JITTERSCOPE_API int jitterscope_explain(jitterscope_device* device, const char* request,
                                        const jitterscope_callable* callable, jitterscope_progress progress,
                                        void* progress_context, char** record);

/* What came of remedies, from a record of jitterscope_measure in one cache state: the first callable is the work as it
 * is now, the others have a remedy each. `request` is {"remedies": [{"study": "layout", "arm": "nhwc", "place": "In
 * PyTorch", "lines": […], "price": …, "work": 1, "relative_error": 1e-4, "memory_ratio": 0.5, "is_wrong": false,
 * "goes_before": "graph"}], "advice": the record of the steps before, "title", "goal", "margin", "tolerance", "untried",
 * "notes", "stage"}; all but study and arm may be left out. `stage` is "step", or "together" where the second
 * callable is the first with all that was taken. `record` is as `jitterscope advise --json` writes it. */
JITTERSCOPE_API int jitterscope_advise(const char* measured, const char* request, char** record);

/* What the command line prints of a record of any command. `page` is {"width": 100, "details": true, "top": 10,
 * "findings": "all"}; each may be left out, and null is {}. */
JITTERSCOPE_API int jitterscope_show(const char* record, const char* page, char** text);
/* What can be drawn of a record, the main plot first: [{"id": "distribution", "title": …, "caption": …, "spec": …}];
 * each specification is one of Vega-Lite 5 with its data. [] where a record is words alone. */
JITTERSCOPE_API int jitterscope_plots(const char* record, char** json);

#ifdef __cplusplus
}
#endif

#endif
