/* Times a function of one's own from C: a sum of a million numbers on the CPU. Build with
 *   cc own_function.c -I include -L LIBRARY_FOLDER -ljitterscope */
#include <stdio.h>

#include "jitterscope/c.h"

enum { kCount = 1000000 };
static float numbers[kCount];
static volatile float sum; /* so that the compiler must compute it */

static int add_all(void* stream, char* reason, void* context) {
  float total = 0;
  (void)stream, (void)reason, (void)context;
  for (int i = 0; i < kCount; ++i) total += numbers[i];
  sum = total;
  return 0;
}

static int fail(const char* what, int status) {
  fprintf(stderr, "%s: %s\n", what, jitterscope_last_error());
  return status;
}

int main(void) {
  jitterscope_device* device = NULL;
  const jitterscope_callable callable = {.name = "add_all", .launch = add_all};
  char *record = NULL, *text = NULL;
  int status = jitterscope_open("cpu", &device);
  if (status != JITTERSCOPE_DONE) return fail("open", status);
  status = jitterscope_measure(device, "{\"options\": {\"time_limit_seconds\": 1}}", &callable, 1, NULL, NULL, &record);
  jitterscope_close(device);
  if (status != JITTERSCOPE_DONE) return fail("measure", status);
  status = jitterscope_show(record, NULL, &text);
  jitterscope_free(record);
  if (status != JITTERSCOPE_DONE) return fail("show", status);
  fputs(text, stdout);
  jitterscope_free(text);
  return 0;
}
