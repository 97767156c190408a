// A copy-on-write optional value of the size of a pointer, for data that many instructions have in
// common (layouts) or few have at all (attributes).
//
//   Shared<Layout> a = default_layout(2), b = a;   // one layout
//   b.edit().memory_space = 1;                     // b has its own copy; a is unchanged
//
// SharedOrEmpty reads as an empty T if it has no value.
//
// Different objects may be used in different threads, even if they share a value.
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <optional>
#include <utility>

namespace tilecast::ir {

template <class T>
class Shared {
 public:
  Shared() = default;
  Shared(std::nullopt_t) {}  // NOLINT(google-explicit-constructor): as std::optional
  Shared(T value) : node_(new Node(std::move(value))) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const { return node_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  // These require a value.
  const T& operator*() const { return node_->value; }
  const T* operator->() const { return &node_->value; }
  [[nodiscard]] T& edit() {
    if (node_->use_count() > 1) node_.reset(new Node(node_->value));
    return node_->value;
  }
  void reset() { node_.reset(); }
  // Equal for copies that share their value.
  [[nodiscard]] const void* identity() const { return node_.get(); }

  friend bool operator==(const Shared& a, const Shared& b) {
    return a.node_ == b.node_ || (a.node_ && b.node_ && *a == *b);
  }

 private:
  struct Node : boost::intrusive_ref_counter<Node> {
    explicit Node(T held) : value(std::move(held)) {}
    T value;
  };
  boost::intrusive_ptr<Node> node_;
};

template <class T>
class SharedOrEmpty {
 public:
  SharedOrEmpty() = default;
  SharedOrEmpty(T value) {  // NOLINT(google-explicit-constructor): stands in for a T
    if (!value.empty()) held_ = std::move(value);
  }

  const T& operator*() const { return held_ ? *held_ : kEmpty; }
  const T* operator->() const { return &**this; }
  [[nodiscard]] T& edit() {
    if (!held_) held_ = T();
    return held_.edit();
  }
  void reset() { held_.reset(); }

  friend bool operator==(const SharedOrEmpty& a, const SharedOrEmpty& b) { return *a == *b; }

 private:
  inline static const T kEmpty;
  Shared<T> held_;
};

}  // namespace tilecast::ir
