// An open file descriptor with one owner, which closes it.
#pragma once

#include <unistd.h>

#include <utility>

namespace eidolon::controller::http {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) Reset(std::exchange(other.value_, -1));
    return *this;
  }
  ~Descriptor() { Reset(-1); }

  int get() const { return value_; }
  bool valid() const { return value_ >= 0; }
  void Reset(int value) {
    if (value_ >= 0) close(value_);
    value_ = value;
  }

 private:
  int value_ = -1;
};

}  // namespace eidolon::controller::http
