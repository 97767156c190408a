// A value that is made on first use and then kept; copies share it.
//
//   Lazy<Device> device([path] { return load_device(path); });
//   device->clock;  // reads the file
//
// Concurrent uses are safe. If making it throws, so does every use.
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <concepts>
#include <functional>
#include <mutex>
#include <utility>

namespace tilecast::base {

template <class T>
class Lazy {
 public:
  // A value is one that was made already, and a function makes one: both convert.
  // NOLINTBEGIN(google-explicit-constructor)
  Lazy(T value = {}) : state_(new State) { state_->value = std::move(value); }
  template <std::invocable Make>
  Lazy(Make make) : Lazy() {
    state_->make = std::move(make);
  }
  // NOLINTEND(google-explicit-constructor)

  const T& operator*() const {
    std::call_once(state_->asked, [this] {
      if (state_->make) state_->value = state_->make();
      state_->make = {};
    });
    return state_->value;
  }
  const T* operator->() const { return &**this; }

 private:
  struct State : boost::intrusive_ref_counter<State> {
    std::function<T()> make;  // empty once made
    std::once_flag asked;
    T value{};
  };
  boost::intrusive_ptr<State> state_;
};

}  // namespace tilecast::base
