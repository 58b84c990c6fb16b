/* A program that loads and unloads the core like a plug-in and asks for a device in between; nobody
   emulates one here. Its argument is the core's path. Ends with code 5. */
#include <dlfcn.h>

enum { kExitCode = 5, kNoDevice = 100 };

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  for (int i = 0; i < 3; ++i) {
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == 0) return 2;
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(library, "cuInit");
    if (init == 0) return 3;
    if (init(0) == 0) return 4;
    dlclose(library);
  }
  return kExitCode;
}
