// Marks a libc function that the shim answers instead of libc. The names are listed in exports.txt,
// which the symbol test compares with the library.
#pragma once

#define EIDOLON_TIME_EXPORT extern "C" __attribute__((visibility("default")))
