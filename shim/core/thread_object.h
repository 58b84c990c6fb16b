// Objects of which each thread has one, on the heap: a program that loads the core with dlopen has
// little room for variables of threads. Made when a thread first asks, given back when it ends.
//
// Exit handlers of the program's libraries call us when the main thread's variables are gone. They
// get a new object, which stays: its pointer is a variable that nothing destroys, and says so.
#pragma once

#include <utility>

namespace eidolon::shim::core {

// The calling thread's object of this type.
template <typename Object>
Object& ThreadObject() {
  static constinit thread_local Object* object = nullptr;
  struct Owner {
    ~Owner() { delete std::exchange(object, nullptr); }
    void Hold() {}
  };
  if (object == nullptr) {
    object = new Object();
    static thread_local Owner owner;
    owner.Hold();
  }
  return *object;
}

}  // namespace eidolon::shim::core
