/* Threads use the same handles at once, as tilecast.h allows, and get the answers of one thread to
 * the last bit; errors of one thread do not reach another. threads_test PROGRAM */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tilecast.h"

enum { kThreads = 8, kRounds = 6, kModels = 2, kMostKernels = 256, kTiles = 24 };

typedef struct {
  const tilecast_device* device;
  const tilecast_program *program, *product;
  const tilecast_model* models[kModels];
  const char* path;
} Handles;

/* Everything that the handles answer. */
typedef struct {
  tilecast_times times[kModels];
  double kernels[kModels][kMostKernels];
  double tiles[kModels][kTiles];
} Answers;

typedef struct {
  const Handles* handles;
  const Answers* expected;
  int number, failures;
} Worker;

static const char kProduct[] =
    "HloModule m, is_scheduled=true\n"
    "ENTRY e {\n"
    "  a = bf16[1024,2048]{1,0} parameter(0)\n"
    "  b = bf16[2048,4096]{1,0} parameter(1)\n"
    "  ROOT d = bf16[1024,4096]{1,0} dot(a, b), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={0}\n"
    "}\n";

/* 1 when all of it was answered. */
static int ask(const Handles* handles, Answers* answers) {
  int64_t output[2 * kTiles], kernel[kTiles];
  tilecast_tiles tiles = {kTiles, 2, 1, output, kernel, NULL, NULL};
  int good = 1;
  memset(answers, 0, sizeof *answers); /* compared as bytes */
  for (int i = 0; i < kTiles; ++i) {
    output[2 * i] = 8 << i % 5;
    output[2 * i + 1] = 1 << i % 4;
    kernel[i] = 1 << i % 6;
  }
  for (int m = 0; m < kModels; ++m) {
    const tilecast_model* model = handles->models[m];
    good &= tilecast_simulate(handles->program, model, &answers->times[m], NULL);
    good &= tilecast_kernel_times(handles->program, model, answers->kernels[m], NULL);
    good &= tilecast_tile_times(handles->product, 0, model, &tiles, answers->tiles[m], NULL);
  }
  return good;
}

/* A wrong program under a name of this thread: the error is this thread's. */
static int fails_as_it_should(const Handles* handles, int number) {
  char name[32];
  tilecast_error* error = NULL;
  snprintf(name, sizeof name, "bad%d.hlo", number);
  const int good =
      tilecast_program_parse("HloModule m\n?", 13, name, handles->device, &error) == NULL &&
      strcmp(tilecast_error_file(error), name) == 0 && tilecast_error_line(error) == 2;
  tilecast_error_free(error);
  return good;
}

/* The same program, read and answered by this thread alone beside the others. */
static int reads_its_own(const Handles* handles, const Answers* expected) {
  tilecast_times times;
  tilecast_program* program = tilecast_program_load(handles->path, handles->device, NULL);
  const int good = program != NULL &&
                   tilecast_simulate(program, handles->models[0], &times, NULL) &&
                   memcmp(&times, &expected->times[0], sizeof times) == 0;
  tilecast_program_free(program);
  return good;
}

static void* work(void* argument) {
  Worker* worker = argument;
  Answers* answers = malloc(sizeof *answers);
  for (int round = 0; answers != NULL && round < kRounds; ++round) {
    const int same =
        ask(worker->handles, answers) && memcmp(answers, worker->expected, sizeof *answers) == 0;
    worker->failures += !same;
    worker->failures += !fails_as_it_should(worker->handles, worker->number);
    worker->failures += !reads_its_own(worker->handles, worker->expected);
  }
  worker->failures += answers == NULL;
  free(answers);
  return NULL;
}

static int run(const Handles* handles, const Answers* expected) {
  pthread_t threads[kThreads];
  Worker workers[kThreads];
  int failures = 0;
  for (int i = 0; i < kThreads; ++i) {
    workers[i] = (Worker){handles, expected, i, 0};
    if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0) return 1;
  }
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    failures += workers[i].failures;
  }
  return failures;
}

int main(int argc, char** argv) {
  static Answers expected;
  if (argc != 2) return 2;
  tilecast_device* device = tilecast_device_load("cpu_generic", NULL, 0, NULL);
  tilecast_program* program = tilecast_program_load(argv[1], device, NULL);
  tilecast_program* product =
      tilecast_program_parse(kProduct, strlen(kProduct), "product.hlo", device, NULL);
  tilecast_model* physics = tilecast_model_load("analytical", device, NULL);
  tilecast_model* corrected = tilecast_model_load("learned", device, NULL);
  const Handles handles = {device, program, product, {physics, corrected}, argv[1]};
  int failures = 1;
  if (tilecast_program_kernels(program) <= kMostKernels && ask(&handles, &expected) &&
      expected.times[0].time > 0 && expected.times[0].time != expected.times[1].time) {
    failures = run(&handles, &expected);
  }
  printf("%d threads x %d rounds: %d failures\n", kThreads, kRounds, failures);
  tilecast_model_free(corrected);
  tilecast_model_free(physics);
  tilecast_program_free(product);
  tilecast_program_free(program);
  tilecast_device_free(device);
  return failures != 0;
}
