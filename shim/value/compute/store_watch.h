// Records which stores of a kernel happen while it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/machine_code/interpret/program.h"
#include "services/machine_code/interpret/warp.h"
#include "shim/value/compute/learning.h"

namespace eidolon::shim::compute {

// A copy of a program whose handlers take note. Of one thread, one at a time; the program outlives
// it.
class StoreWatch {
 public:
  StoreWatch(const interpret::Program& program, const Stores& stores)
      : program_(program), watched_(program), happened_(program.steps.size(), false) {
    for (const interpret::StoreSite& site : stores) watched_.steps[site.step].run = Note;
    current = this;
  }
  ~StoreWatch() { current = nullptr; }
  StoreWatch(const StoreWatch&) = delete;
  StoreWatch& operator=(const StoreWatch&) = delete;

  const interpret::Program& program() const { return watched_; }
  bool happened(std::uint32_t step) const { return happened_[step]; }

 private:
  static void Note(interpret::Warp& warp, const interpret::Step& step, std::uint32_t mask) {
    const auto at = static_cast<std::size_t>(&step - current->watched_.steps.data());
    current->happened_[at] = true;
    current->program_.steps[at].run(warp, step, mask);
  }

  static inline thread_local StoreWatch* current = nullptr;

  const interpret::Program& program_;
  interpret::Program watched_;
  std::vector<bool> happened_;
};

}  // namespace eidolon::shim::compute
