/* Whatever is wrong, the C interface answers null or 0, with a message and, where there is one, a
 * place; and never ends the process. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tilecast.h"

static int failures = 0;

#define EXPECT(condition)                                            \
  do {                                                               \
    if (!(condition)) {                                              \
      printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                    \
    }                                                                \
  } while (0)

/* Takes the error, and expects its message to hold `part`. */
static void expect_error(tilecast_error** error, const char* part) {
  EXPECT(*error != NULL);
  EXPECT(strstr(tilecast_error_message(*error), part) != NULL);
  if (strstr(tilecast_error_message(*error), part) == NULL) {
    printf("  got: %s\n", tilecast_error_message(*error));
  }
  tilecast_error_free(*error);
  *error = NULL;
}

static const char kProgram[] =
    "HloModule m, is_scheduled=true\n"
    "ENTRY e {\n"
    "  a = f32[8192,8192]{1,0} parameter(0)\n"
    "  ROOT b = f32[8192,8192]{1,0} add(a, a)\n"
    "}\n";

static void nulls_are_errors(void) {
  tilecast_error* error = NULL;
  tilecast_times times;
  EXPECT(tilecast_device_load(NULL, NULL, 0, &error) == NULL);
  expect_error(&error, "name_or_path");
  EXPECT(tilecast_device_load("tpu_v3", NULL, 1, &error) == NULL);
  expect_error(&error, "set");
  EXPECT(tilecast_program_load("x.hlo", NULL, NULL) == NULL);
  EXPECT(tilecast_program_parse(NULL, 3, "x", NULL, &error) == NULL);
  expect_error(&error, "bytes");
  EXPECT(tilecast_model_load("analytical", NULL, &error) == NULL);
  expect_error(&error, "device");
  EXPECT(tilecast_simulate(NULL, NULL, &times, &error) == 0);
  expect_error(&error, "null");
  EXPECT(tilecast_program_kernels(NULL) == 0);
  EXPECT(tilecast_kernel_name(NULL, 0) == NULL);
  EXPECT(strcmp(tilecast_error_message(NULL), "") == 0);
  tilecast_device_free(NULL);
  tilecast_program_free(NULL);
  tilecast_model_free(NULL);
  tilecast_error_free(NULL);
}

static void places_are_told(const tilecast_device* device) {
  tilecast_error* error = NULL;
  const char text[] = "HloModule m\nENTRY e {\n  ROOT a = f32[2] no_such(b)\n}\n";
  EXPECT(tilecast_program_parse(text, strlen(text), "bad.hlo", device, &error) == NULL);
  EXPECT(strcmp(tilecast_error_file(error), "bad.hlo") == 0);
  EXPECT(tilecast_error_line(error) == 3);
  EXPECT(tilecast_error_column(error) > 1);
  expect_error(&error, "no_such");
  EXPECT(tilecast_device_load("no_such_device", NULL, 0, &error) == NULL);
  EXPECT(tilecast_error_line(error) == 0);
  expect_error(&error, "no_such_device");
  EXPECT(tilecast_model_load("no_such_model", device, &error) == NULL);
  expect_error(&error, "no_such_model");
}

static void tiles_are_checked(const tilecast_program* program, const tilecast_model* model) {
  tilecast_error* error = NULL;
  int64_t output[] = {8, 4, 1024, 64, 1, 1};
  const int32_t stages[] = {0, 0, 5000};
  tilecast_tiles tiles = {3, 2, 0, output, NULL, NULL, NULL};
  double seconds[3] = {0, 0, 0};
  EXPECT(tilecast_tile_times(program, 0, model, &tiles, seconds, &error) == 1);
  EXPECT(seconds[0] > 0);
  EXPECT(isnan(seconds[1])); /* does not fit on the chip */
  EXPECT(seconds[2] > seconds[0]);
  output[5] = -1;
  EXPECT(tilecast_tile_times(program, 0, model, &tiles, seconds, &error) == 0);
  expect_error(&error, "tile 2: got a size of -1");
  output[5] = 1;
  EXPECT(tilecast_tile_times(program, 7, model, &tiles, seconds, &error) == 0);
  expect_error(&error, "kernel 7");
  tiles.stages = stages;
  EXPECT(tilecast_tile_times(program, 0, model, &tiles, seconds, &error) == 0);
  expect_error(&error, "stages");
  tiles.output_rank = (size_t)1 << 40;
  EXPECT(tilecast_tile_times(program, 0, model, &tiles, seconds, &error) == 0);
  expect_error(&error, "dimensions");
}

/* Twice the bandwidth is never slower, and is another number. */
static void changes_of_devices_count(double before) {
  const char* const set[] = {"hbm.bandwidth=1.8TB/s"};
  tilecast_error* error = NULL;
  tilecast_device* device = tilecast_device_load("tpu_v3", set, 1, &error);
  tilecast_program* program =
      tilecast_program_parse(kProgram, strlen(kProgram), "add.hlo", device, &error);
  tilecast_model* model = tilecast_model_load("analytical", device, &error);
  tilecast_times times = {0, 0, 0};
  EXPECT(tilecast_simulate(program, model, &times, &error) == 1);
  EXPECT(times.time > 0 && times.time < before);
  tilecast_model_free(model);
  tilecast_program_free(program);
  tilecast_device_free(device);
}

int main(void) {
  tilecast_error* error = NULL;
  tilecast_device* device = tilecast_device_load("tpu_v3", NULL, 0, &error);
  tilecast_program* program =
      tilecast_program_parse(kProgram, strlen(kProgram), "add.hlo", device, &error);
  tilecast_model* model = tilecast_model_load("analytical", device, &error);
  tilecast_times times = {0, 0, 0};
  EXPECT(tilecast_abi_version() == TILECAST_ABI_VERSION);
  EXPECT(tilecast_simulate(program, model, &times, &error) == 1);
  EXPECT(tilecast_program_kernels(program) == 1);
  nulls_are_errors();
  places_are_told(device);
  tiles_are_checked(program, model);
  changes_of_devices_count(times.time);
  tilecast_model_free(model);
  tilecast_program_free(program);
  tilecast_device_free(device);
  return failures == 0 ? 0 : 1;
}
