/* Tilecast's C interface: devices, programs and models as opaque handles, estimates in batches.
 *
 *   tilecast_error* error = NULL;
 *   tilecast_device* device = tilecast_device_load(name, NULL, 0, &error);
 *   tilecast_program* program = tilecast_program_load("model.hlo", device, &error);
 *   tilecast_model* model = tilecast_model_load("default", device, &error);
 *   tilecast_times times;
 *   if (!tilecast_simulate(program, model, &times, &error)) puts(tilecast_error_message(error));
 *
 * Valid C99. Numbers are bit-identical to those of the command `tilecast`; times are in seconds.
 * Failure: returns a null handle or 0, and sets *error if `error` is not null; nothing is thrown.
 * The caller frees the error. A missing handle or pointer is an error; freeing null does nothing.
 * Threads: handles are immutable; any number of threads may use one concurrently.
 * Free a handle after its last use. A program does not refer to its device handle. */
#ifndef TILECAST_H
#define TILECAST_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TILECAST_API __attribute__((visibility("default")))
#else
#define TILECAST_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Incremented by every change that breaks callers; the library's SOVERSION. */
#define TILECAST_ABI_VERSION 1
TILECAST_API int tilecast_abi_version(void); /* of the loaded library */

typedef struct tilecast_error tilecast_error;
TILECAST_API const char* tilecast_error_message(const tilecast_error* error);
TILECAST_API const char* tilecast_error_file(const tilecast_error* error); /* "": no file */
TILECAST_API int tilecast_error_line(const tilecast_error* error);         /* 1-based; 0: unknown */
TILECAST_API int tilecast_error_column(const tilecast_error* error);       /* 1-based; 0: unknown */
TILECAST_API void tilecast_error_free(tilecast_error* error);

/* A preset's name or a path, with `count` overrides "key=value", as for --set. */
typedef struct tilecast_device tilecast_device;
TILECAST_API tilecast_device* tilecast_device_load(const char* name_or_path, const char* const* set,
                                                   size_t count, tilecast_error** error);
TILECAST_API const char* tilecast_device_name(const tilecast_device* device);
TILECAST_API void tilecast_device_free(tilecast_device* device);

/* A program split into kernels for one device, from a file, or from `size` bytes called `name` in
 * messages. Supports every format that the command reads. */
typedef struct tilecast_program tilecast_program;
TILECAST_API tilecast_program* tilecast_program_load(const char* path,
                                                     const tilecast_device* device,
                                                     tilecast_error** error);
TILECAST_API tilecast_program* tilecast_program_parse(const char* bytes, size_t size,
                                                      const char* name,
                                                      const tilecast_device* device,
                                                      tilecast_error** error);
TILECAST_API size_t tilecast_program_kernels(const tilecast_program* program);
/* Null if there is no such kernel. */
TILECAST_API const char* tilecast_kernel_name(const tilecast_program* program, size_t kernel);
TILECAST_API double tilecast_kernel_launches(const tilecast_program* program, size_t kernel);
TILECAST_API void tilecast_program_free(tilecast_program* program);

/* A model as for --model: "analytical", "default", "hybrid", a folder ... */
typedef struct tilecast_model tilecast_model;
TILECAST_API tilecast_model* tilecast_model_load(const char* name, const tilecast_device* device,
                                                 tilecast_error** error);
TILECAST_API void tilecast_model_free(tilecast_model* model);

typedef struct {
  double time;          /* sum over kernels of time x launches */
  double timeline;      /* with copies and collectives overlapping other kernels */
  double host_dispatch; /* time of the host; in neither of the above */
} tilecast_times;
/* Returns 1 on success. */
TILECAST_API int tilecast_simulate(const tilecast_program* program, const tilecast_model* model,
                                   tilecast_times* times, tilecast_error** error);
/* Times per launch of each kernel; `seconds` has room for tilecast_program_kernels() numbers. NaN:
 * the model has no estimate for the kernel. */
TILECAST_API int tilecast_kernel_times(const tilecast_program* program, const tilecast_model* model,
                                       double* seconds, tilecast_error** error);

/* `count` tiles of one kernel, row after row: physical sizes, most major dimension first, the two
 * minor ones in native tiles. A rank of 0: that part is not tiled. `stages` and `warps` are for
 * thread blocks, or null. */
typedef struct {
  size_t count, output_rank, kernel_rank;
  const int64_t *output, *kernel;
  const int32_t *stages, *warps;
} tilecast_tiles;
/* `seconds` has room for `count` numbers; NaN: the tile cannot run, or there is no estimate. */
TILECAST_API int tilecast_tile_times(const tilecast_program* program, size_t kernel,
                                     const tilecast_model* model, const tilecast_tiles* tiles,
                                     double* seconds, tilecast_error** error);

#ifdef __cplusplus
}
#endif

#endif /* TILECAST_H */
