// Starts a program that is linked against a glibc that is older than this machine's. The start
// files since glibc 2.34 leave the program's constructors to the C library; older ones expect that
// the program brings a function for it. Linked with --wrap=__libc_start_main.
#include <cstddef>

extern "C" {

using Main = int(int, char**, char**);
using Init = void(int, char**, char**);
using Final = void();

int __real___libc_start_main(Main* main, int argc, char** argv, Init* init, Final* fini,
                             Final* loader_fini, void* stack_end);

extern Init* __init_array_start[] __attribute__((visibility("hidden")));
extern Init* __init_array_end[] __attribute__((visibility("hidden")));
void _init();

static void RunConstructors(int argc, char** argv, char** environment) {
  _init();
  const std::ptrdiff_t count = __init_array_end - __init_array_start;
  for (std::ptrdiff_t i = 0; i < count; ++i) __init_array_start[i](argc, argv, environment);
}

// Destructors are the loader's in every version.
int __wrap___libc_start_main(Main* main, int argc, char** argv, Init* /*init*/, Final* /*fini*/,
                             Final* loader_fini, void* stack_end) {
  return __real___libc_start_main(main, argc, argv, RunConstructors, nullptr, loader_fini,
                                  stack_end);
}

}  // extern "C"
