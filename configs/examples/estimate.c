/* Times of a program on a device, and of four tiles of its first kernel, through the C interface:
 *
 *   cc -std=c99 estimate.c -ltilecast_c -o estimate && ./estimate tpu_v3 product.hlo analytical
 *
 * Prints seconds with all their digits. docs/c-api.md walks through it. */
#include <stdio.h>
#include <stdlib.h>

#include "tilecast.h"

static int failed(tilecast_error* error) {
  fprintf(stderr, "error: %s\n", tilecast_error_message(error));
  if (tilecast_error_line(error) > 0) {
    fprintf(stderr, "at %s, line %d, column %d\n", tilecast_error_file(error),
            tilecast_error_line(error), tilecast_error_column(error));
  }
  tilecast_error_free(error);
  return 1;
}

static int print_kernels(const tilecast_program* program, const tilecast_model* model,
                         tilecast_error** error) {
  const size_t count = tilecast_program_kernels(program);
  double* seconds = malloc((count + 1) * sizeof *seconds);
  const int ok = seconds != NULL && tilecast_kernel_times(program, model, seconds, error);
  if (ok) {
    for (size_t i = 0; i < count; ++i) {
      printf("kernel %s %.17g %.17g\n", tilecast_kernel_name(program, i),
             tilecast_kernel_launches(program, i), seconds[i]);
    }
  }
  free(seconds);
  return ok;
}

/* The tiles of configs/examples/tiles.csv. */
static int print_tiles(const tilecast_program* program, const tilecast_model* model,
                       tilecast_error** error) {
  static const int64_t output[] = {64, 8, 128, 8, 64, 4, 16, 8};
  static const int64_t kernel[] = {128, 1, 64, 1, 256, 1, 512, 1};
  const tilecast_tiles tiles = {4, 2, 2, output, kernel, NULL, NULL};
  double seconds[4];
  if (!tilecast_tile_times(program, 0, model, &tiles, seconds, error)) return 0;
  for (size_t i = 0; i < tiles.count; ++i) printf("tile %d %.17g\n", (int)i, seconds[i]);
  return 1;
}

static int answer(const tilecast_program* program, const tilecast_model* model,
                  tilecast_error** error) {
  tilecast_times times;
  if (!tilecast_simulate(program, model, &times, error)) return 0;
  printf("time %.17g\ntimeline %.17g\nhost %.17g\n", times.time, times.timeline,
         times.host_dispatch);
  return print_kernels(program, model, error) && print_tiles(program, model, error);
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: estimate DEVICE PROGRAM MODEL\n");
    return 2;
  }
  if (tilecast_abi_version() != TILECAST_ABI_VERSION) return 2;
  tilecast_error* error = NULL;
  tilecast_device* device = tilecast_device_load(argv[1], NULL, 0, &error);
  tilecast_program* program = NULL;
  tilecast_model* model = NULL;
  int ok = device != NULL;
  if (ok) ok = (program = tilecast_program_load(argv[2], device, &error)) != NULL;
  if (ok) ok = (model = tilecast_model_load(argv[3], device, &error)) != NULL;
  if (ok) ok = answer(program, model, &error);
  tilecast_model_free(model);
  tilecast_program_free(program);
  tilecast_device_free(device);
  return ok ? 0 : failed(error);
}
