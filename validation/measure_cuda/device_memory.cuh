// RAII for CUDA resources, and CUDA errors as our Error.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <utility>

#include "base/error.h"

namespace tilecast::measure_cuda {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw Error(std::string("CUDA: ") + what + " failed: " + cudaGetErrorString(status));
}

template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t elements) {
    check(cudaMalloc(&data_, elements * sizeof(T)), "allocating memory of the card");
  }
  DeviceArray(DeviceArray&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~DeviceArray() { cudaFree(data_); }
  [[nodiscard]] T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "creating an event"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record() { check(cudaEventRecord(event_), "recording an event"); }
  // Waits for `end`; returns the time between the two.
  [[nodiscard]] static double seconds_between(const Event& begin, const Event& end) {
    float ms = 0;
    check(cudaEventSynchronize(end.event_), "a kernel");
    check(cudaEventElapsedTime(&ms, begin.event_, end.event_), "reading events");
    return ms * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace tilecast::measure_cuda
