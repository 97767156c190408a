// For generated CUDA compiled by nvcc (cuda_runner.h): copies arrays to the GPU, launches once, and
// copies the results back. Results are initialised to all bits set, a NaN in every float type.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

namespace tilecast_test {

struct HostArrays {
  const void* const* in;
  void* const* out;
  std::vector<std::size_t> in_bytes, out_bytes;
  std::size_t scratch_bytes;
};

class OnGpu {
 public:
  explicit OnGpu(const HostArrays& host) : host_(host) {
    for (std::size_t i = 0; i < host.in_bytes.size(); ++i) {
      in_.push_back(allocated(host.in_bytes[i]));
      note(cudaMemcpy(in_[i], host.in[i], host.in_bytes[i], cudaMemcpyHostToDevice));
    }
    for (const std::size_t bytes : host.out_bytes) {
      out_.push_back(allocated(bytes));
      note(cudaMemset(out_.back(), 0xff, bytes));
    }
    scratch_ = allocated(host.scratch_bytes);
  }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
  ~OnGpu() {
    for (void* array : in_) (void)cudaFree(array);
    for (void* array : out_) (void)cudaFree(array);
    (void)cudaFree(scratch_);
  }

  // CUDA's message for the first error; nullptr if there is none.
  template <class Launch>
  const char* run(const Launch& launch) {
    if (failed_ == cudaSuccess) note(launch(in_.data(), out_.data(), scratch_, nullptr));
    note(cudaDeviceSynchronize());
    for (std::size_t i = 0; i < out_.size(); ++i) {
      note(cudaMemcpy(host_.out[i], out_[i], host_.out_bytes[i], cudaMemcpyDeviceToHost));
    }
    return failed_ == cudaSuccess ? nullptr : cudaGetErrorString(failed_);
  }

 private:
  void* allocated(std::size_t bytes) {
    void* array = nullptr;
    if (bytes > 0) note(cudaMalloc(&array, bytes));
    return array;
  }
  void note(cudaError_t status) {
    if (failed_ == cudaSuccess) failed_ = status;
  }

  const HostArrays& host_;
  std::vector<void*> in_, out_;
  void* scratch_ = nullptr;
  cudaError_t failed_ = cudaSuccess;
};

}  // namespace tilecast_test
