// What the runtimes of sanitizers ask a test binary at its start. Reports name functions and lines.
extern "C" {

const char* __asan_default_options() {
  return "allow_addr2line=1:external_symbolizer_path=" EIDOLON_ADDR2LINE;
}

const char* __ubsan_default_options() {
  return "print_stacktrace=1:allow_addr2line=1:external_symbolizer_path=" EIDOLON_ADDR2LINE;
}

// A process in which threads run still waits at its end, for races that they may yet have: a
// second, if nobody says how long, in each of hundreds of tests.
const char* __tsan_default_options() {
  return "atexit_sleep_ms=50:allow_addr2line=1:external_symbolizer_path=" EIDOLON_ADDR2LINE;
}

// Libraries of the distribution are not instrumented: the sanitizer sees their accesses to memory,
// but not the atomics and the locks of their own that order them. A race counts only if none of its
// two accesses was made by such a library or by code that it called back; header code of theirs
// that is compiled into ours counts as theirs. gRPC's timers join a thread that has ended when the
// next one expires, which may be after the program. Our own code never stands here.
const char* __tsan_default_suppressions() {
  return "race:libabsl\n"
         "race:libcpp-httplib\n"
         "race:libgrpc\n"
         "race:libgpr\n"
         "race:libprotobuf\n"
         "race:libprometheus\n"
         "race:^grpc::\n"
         "race:^google::protobuf::\n"
         "thread:libgpr\n";
}

}  // extern "C"
